// The last steps of an old reduction, "the 32 lanes of a warp run in lockstep anyway". Since Volta they need
// not: without __syncwarp a lane may read before, or after, its neighbour has written.
#include "verdict.cuh"

__global__ void warp_sums(const int* x, int* sums) {
  __shared__ int storage[64];
  volatile int* partial = storage;
  const unsigned lane = threadIdx.x;
  partial[lane] = x[blockIdx.x * 64 + lane];
  partial[lane + 32] = x[blockIdx.x * 64 + lane + 32];
  __syncwarp();
#pragma unroll 1
  for (unsigned half = 32; half > 0; half /= 2) {
#ifdef FIXED
    const int sum = partial[lane] + partial[lane + half];
    __syncwarp();
    partial[lane] = sum;
    __syncwarp();
#else
    partial[lane] += partial[lane + half];  // expect: race
#endif
  }
  if (lane == 0) sums[blockIdx.x] = partial[0];
}

int main() {
  const int warps = 8;
  const int n = 64 * warps;
  std::vector<int> x(n), expected(warps, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = i % 13;
    expected[i / 64] += x[i];
  }
  int* device_x = to_device(x);
  int* device_sums = device_zeros<int>(warps);
  warp_sums<<<warps, 32>>>(device_x, device_sums);
  const bool right = to_host(device_sums, warps) == expected;
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
