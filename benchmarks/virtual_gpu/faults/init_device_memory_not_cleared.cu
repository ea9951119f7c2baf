// Accumulates into a buffer fresh from cudaMalloc: it holds whatever was there before, not zeros.
#include "verdict.cuh"

__global__ void accumulate(const float* x, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  total[i] += x[i];  // expect: init
}

int main() {
  const int n = 700, steps = 3;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_total = nullptr;
  cudaMalloc(&device_total, n * sizeof(float));
#ifdef FIXED
  cudaMemset(device_total, 0, n * sizeof(float));
#endif
  for (int step = 0; step < steps; ++step) accumulate<<<(n + 127) / 128, 128>>>(device_x, device_total, n);
  const std::vector<float> total = to_host(device_total, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && total[i] == static_cast<float>(steps) * x[i];
  cudaFree(device_x);
  cudaFree(device_total);
  return verdict(right);
}
