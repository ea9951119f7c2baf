// All 32 lanes shuffle in groups of 16, each with the mask of the lower group: the upper lanes call with a
// mask they are not in.
#include "verdict.cuh"

__global__ void sum_groups_of_16(const int* x, int* sums) {
#ifdef FIXED
  const unsigned mask = threadIdx.x % 32 < 16 ? 0x0000ffff : 0xffff0000;
#else
  const unsigned mask = 0x0000ffff;
#endif
  int value = x[threadIdx.x];
#pragma unroll 1
  for (int distance = 8; distance > 0; distance /= 2) {
    value += __shfl_xor_sync(mask, value, distance, 16);  // expect: sync
  }
  sums[threadIdx.x] = value;
}

int main() {
  const int threads = 64;
  std::vector<int> x(threads);
  for (int i = 0; i < threads; ++i) x[i] = 2 * i + 1;
  int* device_x = to_device(x);
  int* device_sums = device_zeros<int>(threads);
  sum_groups_of_16<<<1, threads>>>(device_x, device_sums);
  const std::vector<int> sums = to_host(device_sums, threads);
  bool right = true;
  for (int i = 0; i < threads; ++i) {
    int expected = 0;
    for (int k = 0; k < 16; ++k) expected += x[i / 16 * 16 + k];
    right = right && sums[i] == expected;
  }
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
