// A three-point stencil that takes its left neighbour without asking whether there is one: thread 0 reads
// the value before the start of the array.
#include "verdict.cuh"

__global__ void smooth(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FIXED
  const float left = i > 0 ? x[i - 1] : x[0];
#else
  const float left = x[i - 1];  // expect: memory
#endif
  const float right = i < n - 1 ? x[i + 1] : x[n - 1];
  y[i] = left + 2.0f * x[i] + right;
}

int main() {
  const int n = 500;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
  smooth<<<(n + 127) / 128, 128>>>(device_x, device_y, n);
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const float left = x[i > 0 ? i - 1 : 0];
    right = right && y[i] == left + 2.0f * x[i] + x[i < n - 1 ? i + 1 : n - 1];
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
