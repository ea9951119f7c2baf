// A two-stage pipeline waits with "all but one group" in every step. In the last step no newer group exists:
// the one group it may leave open is the one about to be used.
#include <cuda_pipeline.h>

#include "verdict.cuh"

constexpr int kThreads = 64;
constexpr int kSteps = 6;

__global__ void sum_rows(const float* x, float* sums) {
  __shared__ float stage[2][kThreads];
  const int t = threadIdx.x;
  const float* mine = x + blockIdx.x * kSteps * kThreads + t;
  __pipeline_memcpy_async(&stage[0][t], mine, sizeof(float));
  __pipeline_commit();
  float sum = 0.0f;
  for (int step = 0; step < kSteps; ++step) {
    if (step + 1 < kSteps) {
      __pipeline_memcpy_async(&stage[(step + 1) % 2][t], mine + (step + 1) * kThreads, sizeof(float));
      __pipeline_commit();
    }
#ifdef FIXED
    if (step + 1 < kSteps) {
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
#else
    __pipeline_wait_prior(1);
#endif
    sum += stage[step % 2][t];  // expect: async
  }
  sums[blockIdx.x * kThreads + t] = sum;
}

int main() {
  const int blocks = 2;
  const int n = blocks * kSteps * kThreads;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_sums = device_zeros<float>(blocks * kThreads);
  sum_rows<<<blocks, kThreads>>>(device_x, device_sums);
  const std::vector<float> sums = to_host(device_sums, blocks * kThreads);
  bool right = true;
  for (int i = 0; i < blocks * kThreads; ++i) {
    float expected = 0.0f;
    for (int k = 0; k < kSteps; ++k) expected += x[(i / kThreads * kSteps + k) * kThreads + i % kThreads];
    right = right && sums[i] == expected;
  }
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
