// Reverses a block through shared memory without waiting for the other warps to have stored their part.
#include "verdict.cuh"

constexpr int kThreads = 256;

__global__ void reverse_block(const int* x, int* y) {
  __shared__ int tile[kThreads];
  const int base = blockIdx.x * kThreads;
  tile[threadIdx.x] = x[base + threadIdx.x];  // other: race
#ifdef FIXED
  __syncthreads();
#endif
  y[base + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];  // expect: race
}

int main() {
  const int n = 2 * kThreads;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = 5 * i;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  reverse_block<<<2, kThreads>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i)
    right = right && y[i] == x[i / kThreads * kThreads + kThreads - 1 - i % kThreads];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
