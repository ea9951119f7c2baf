// Half a warp reduces with shuffles inside a branch, and names all 32 lanes in the mask: the other half
// never comes.
#include "verdict.cuh"

__global__ void sum_lower_half(const int* x, int* sums) {
  const unsigned lane = threadIdx.x % 32;
  int value = x[threadIdx.x];
  if (lane < 16) {
#ifdef FIXED
    const unsigned mask = 0x0000ffff;
#else
    const unsigned mask = 0xffffffff;
#endif
#pragma unroll 1
    for (int distance = 8; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(mask, value, distance);  // expect: sync
    }
  }
  sums[threadIdx.x] = value;
}

int main() {
  const int threads = 64;
  std::vector<int> x(threads);
  for (int i = 0; i < threads; ++i) x[i] = i;
  int* device_x = to_device(x);
  int* device_sums = device_zeros<int>(threads);
  sum_lower_half<<<1, threads>>>(device_x, device_sums);
  const std::vector<int> sums = to_host(device_sums, threads);
  bool right = true;
  for (int i = 0; i < threads; ++i) {
    const int first = i / 32 * 32;
    right = right && sums[i] == (i % 32 < 16 ? 16 * first + 120 : x[i]);
  }
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
