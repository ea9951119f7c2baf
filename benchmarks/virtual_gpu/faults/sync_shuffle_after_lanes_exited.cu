// Lanes beyond the end return before the warp reduces with a full mask: the shuffles wait for, and read
// from, lanes that are gone.
#include "verdict.cuh"

__global__ void warp_maxima(const int* x, int* maxima, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
  int value = i < n ? x[i] : 0;
#else
  if (i >= n) return;
  int value = x[i];
#endif
#pragma unroll 1
  for (int distance = 16; distance > 0; distance /= 2) {
    value = max(value, __shfl_down_sync(0xffffffff, value, distance));  // expect: sync
  }
  if (i % 32 == 0) maxima[i / 32] = value;
}

int main() {
  const int n = 112, warps = 4;
  std::vector<int> x(n), expected(warps, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = 29 * i % 83 + 1;
    if (x[i] > expected[i / 32]) expected[i / 32] = x[i];
  }
  int* device_x = to_device(x);
  int* device_maxima = device_zeros<int>(warps);
  warp_maxima<<<1, 32 * warps>>>(device_x, device_maxima, n);
  const bool right = to_host(device_maxima, warps) == expected;
  cudaFree(device_x);
  cudaFree(device_maxima);
  return verdict(right);
}
