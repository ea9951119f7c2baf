// Copies the result back asynchronously into pinned memory and reads it at once: the call returns when the
// copy is queued, not when it is done.
// wrong-result
#include "verdict.cuh"

__global__ void square(int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= x[i];
}

int main() {
  const int n = 1 << 20;
  int* pinned = nullptr;
  cudaMallocHost(&pinned, n * sizeof(int));
  for (int i = 0; i < n; ++i) pinned[i] = i % 1000 + 2;
  int* device_x = device_zeros<int>(n);
  cudaDeviceSynchronize();
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMemcpyAsync(device_x, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream);
  square<<<(n + 255) / 256, 256, 0, stream>>>(device_x, n);
  cudaMemcpyAsync(pinned, device_x, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
#ifdef FIXED
  cudaStreamSynchronize(stream);
#endif
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && pinned[i] == (i % 1000 + 2) * (i % 1000 + 2);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  cudaFree(device_x);
  cudaFreeHost(pinned);
  return verdict(right);
}
