// Stages a vector with 16-byte cp.async copies and rounds the number of copies up: the last one reads past
// the end of the source. The twin copies each element by itself, if there is one.
#include <cuda_pipeline.h>

#include "verdict.cuh"

constexpr int kThreads = 64;

__global__ void stage_and_double(const float* x, float* y, int n) {
  __shared__ alignas(16) float tile[4 * kThreads];
  const int first = 4 * (blockIdx.x * kThreads + threadIdx.x);
  float* mine = tile + 4 * threadIdx.x;
#ifdef FIXED
  const int valid = min(n - first, 4);
  for (int k = 0; k < valid; ++k) __pipeline_memcpy_async(mine + k, x + first + k, sizeof(float));
#else
  if (first < n) __pipeline_memcpy_async(mine, x + first, 16);  // expect: memory
#endif
  __pipeline_commit();
  __pipeline_wait_prior(0);
  for (int k = 0; k < 4; ++k) {
    if (first + k < n) y[first + k] = 2.0f * mine[k];
  }
}

int main() {
  const int n = 498;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
  stage_and_double<<<2, kThreads>>>(device_x, device_y, n);
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == 2.0f * x[i];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
