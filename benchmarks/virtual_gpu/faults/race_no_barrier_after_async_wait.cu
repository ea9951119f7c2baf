// Waits for its own cp.async and then reads what another thread copied. The wait covers the caller's copies
// alone; the others' become visible at a barrier.
#include <cuda_pipeline.h>

#include "verdict.cuh"

constexpr int kThreads = 128;

__global__ void reverse_block(const int* x, int* y) {
  __shared__ int tile[kThreads];
  const int base = blockIdx.x * kThreads;
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[base + threadIdx.x], sizeof(int));  // other: race
  __pipeline_commit();
  __pipeline_wait_prior(0);  // other: race
#ifdef FIXED
  __syncthreads();
#endif
  y[base + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];  // expect: race
}

int main() {
  const int n = 3 * kThreads;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = 7 * i + 3;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  reverse_block<<<3, kThreads>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i)
    right = right && y[i] == x[i / kThreads * kThreads + kThreads - 1 - i % kThreads];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
