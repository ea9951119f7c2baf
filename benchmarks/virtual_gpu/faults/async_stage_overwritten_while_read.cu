// Double buffering that prefetches into the stage read one step ago, without a barrier after that read: a
// fast warp's cp.async lands in the stage a slow warp still reads.
#include <cuda_pipeline.h>

#include "verdict.cuh"

constexpr int kThreads = 128;
constexpr int kSteps = 5;

__global__ void sum_reversed(const int* x, int* sums) {
  __shared__ int stage[2][kThreads];
  const int t = threadIdx.x;
  const int* mine = x + blockIdx.x * kSteps * kThreads + t;
  __pipeline_memcpy_async(&stage[0][t], mine, sizeof(int));
  __pipeline_commit();
  int sum = 0;
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 < kSteps) {
      __pipeline_memcpy_async(&stage[(step + 1) % 2][t], mine + (step + 1) * kThreads, 4);  // expect: async
    }
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += stage[step % 2][kThreads - 1 - t];  // other: async
#ifdef FIXED
    __syncthreads();
#endif
  }
  sums[blockIdx.x * kThreads + t] = sum;
}

int main() {
  const int blocks = 2;
  const int n = blocks * kSteps * kThreads;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = i % 19;
  int* device_x = to_device(x);
  int* device_sums = device_zeros<int>(blocks * kThreads);
  sum_reversed<<<blocks, kThreads>>>(device_x, device_sums);
  const std::vector<int> sums = to_host(device_sums, blocks * kThreads);
  bool right = true;
  for (int i = 0; i < blocks * kThreads; ++i) {
    int expected = 0;
    const int source = kThreads - 1 - i % kThreads;
    for (int k = 0; k < kSteps; ++k) expected += x[(i / kThreads * kSteps + k) * kThreads + source];
    right = right && sums[i] == expected;
  }
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
