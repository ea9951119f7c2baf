// Copies the input on one stream and computes on another. Nothing tells the second stream to wait for the
// first, so the kernel may run before the copy.
// wrong-result
#include "verdict.cuh"

__global__ void add_one(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}

int main() {
  const int n = 1 << 20;
  int* pinned = nullptr;
  cudaMallocHost(&pinned, n * sizeof(int));
  for (int i = 0; i < n; ++i) pinned[i] = i;
  int* device_x = device_zeros<int>(n);
  int* device_y = device_zeros<int>(n);
  cudaDeviceSynchronize();  // the memsets above run on the default stream, which these two do not follow
  cudaStream_t copies, kernels;
  cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking);
  cudaEvent_t copied;
  cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
  cudaMemcpyAsync(device_x, pinned, n * sizeof(int), cudaMemcpyHostToDevice, copies);
  cudaEventRecord(copied, copies);
#ifdef FIXED
  cudaStreamWaitEvent(kernels, copied, 0);
#endif
  add_one<<<(n + 255) / 256, 256, 0, kernels>>>(device_x, device_y, n);
  cudaDeviceSynchronize();
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == i + 1;
  cudaEventDestroy(copied);
  cudaStreamDestroy(copies);
  cudaStreamDestroy(kernels);
  cudaFree(device_x);
  cudaFree(device_y);
  cudaFreeHost(pinned);
  return verdict(right);
}
