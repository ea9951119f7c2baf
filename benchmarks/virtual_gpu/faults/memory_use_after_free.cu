// Frees the input "because the first kernel has used it", although a second launch still reads it.
#include "verdict.cuh"

__global__ void scale(const float* x, float* y, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = factor * x[i];  // expect: memory
}

int main() {
  const int n = 512;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* doubled = device_zeros<float>(n);
  float* tripled = device_zeros<float>(n);
  scale<<<2, 256>>>(device_x, doubled, 2.0f, n);
#ifndef FIXED
  cudaFree(device_x);
#endif
  scale<<<2, 256>>>(device_x, tripled, 3.0f, n);
  const std::vector<float> two = to_host(doubled, n);
  const std::vector<float> three = to_host(tripled, n);
#ifdef FIXED
  cudaFree(device_x);
#endif
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && two[i] == 2.0f * x[i] && three[i] == 3.0f * x[i];
  cudaFree(doubled);
  cudaFree(tripled);
  return verdict(right);
}
