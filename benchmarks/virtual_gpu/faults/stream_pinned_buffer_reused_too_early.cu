// Sends two batches through one pinned buffer and fills in the second before the first copy has left it.
// wrong-result
#include "verdict.cuh"

__global__ void accumulate(const int* batch, long long* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += batch[i];
}

int main() {
  const int n = 1 << 20, batches = 2;
  int* pinned = nullptr;
  cudaMallocHost(&pinned, n * sizeof(int));
  int* batch = device_zeros<int>(n);
  long long* total = device_zeros<long long>(n);
  cudaDeviceSynchronize();
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (int k = 0; k < batches; ++k) {
#ifdef FIXED
    cudaStreamSynchronize(stream);
#endif
    for (int i = 0; i < n; ++i) pinned[i] = i + 10 * k;
    cudaMemcpyAsync(batch, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream);
    accumulate<<<(n + 255) / 256, 256, 0, stream>>>(batch, total, n);
  }
  cudaStreamSynchronize(stream);
  const std::vector<long long> sums = to_host(total, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && sums[i] == 2LL * i + 10;
  cudaStreamDestroy(stream);
  cudaFree(batch);
  cudaFree(total);
  cudaFreeHost(pinned);
  return verdict(right);
}
