// Passes the host vector's own pointer to the kernel instead of the device copy made one line above.
#include "verdict.cuh"

__global__ void square(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = x[i];  // expect: memory
  y[i] = value * value;
}

int main() {
  const int n = 300;
  const std::vector<float> x = small_numbers(n);
  float* device_x = to_device(x);
  float* device_y = device_zeros<float>(n);
#ifdef FIXED
  square<<<3, 128>>>(device_x, device_y, n);
#else
  square<<<3, 128>>>(x.data(), device_y, n);
#endif
  const std::vector<float> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == x[i] * x[i];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
