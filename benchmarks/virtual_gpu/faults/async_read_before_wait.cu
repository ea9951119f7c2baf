// Starts a cp.async and uses the bytes at once. commit only closes the group; nothing waits for it.
#include <cuda_pipeline.h>

#include "verdict.cuh"

constexpr int kThreads = 64;

__global__ void double_rows(const float4* x, float4* y) {
  __shared__ float4 tile[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  __pipeline_memcpy_async(&tile[threadIdx.x], &x[i], sizeof(float4));
  __pipeline_commit();
#ifdef FIXED
  __pipeline_wait_prior(0);
#endif
  const float4 v = tile[threadIdx.x];  // expect: async
  y[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

int main() {
  const int blocks = 3;
  const int n = 4 * kThreads * blocks;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
  double_rows<<<blocks, kThreads>>>(reinterpret_cast<float4*>(device_x), reinterpret_cast<float4*>(device_y));
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == 2.0f * x[i];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
