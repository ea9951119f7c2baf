// Reads the result straight through the device pointer, without copying it back first.
// segfaults
#include "verdict.cuh"

__global__ void count_positive(const float* x, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0.0f) atomicAdd(count, 1);
}

int main() {
  const int n = 300;
  float* device_x = to_device(small_numbers(n));
  int* device_count = device_zeros<int>(1);
  count_positive<<<3, 128>>>(device_x, device_count, n);
  cudaDeviceSynchronize();
#ifdef FIXED
  const int count = to_host(device_count, 1)[0];
#else
  const int count = *device_count;  // expect: host
#endif
  cudaFree(device_x);
  cudaFree(device_count);
  return verdict(count == n);
}
