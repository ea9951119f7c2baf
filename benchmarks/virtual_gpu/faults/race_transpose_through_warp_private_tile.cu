// A warp transposes a 32 x 8 tile it owns alone and therefore leaves out every barrier. Lanes read words
// that other lanes of the warp have stored: that needs __syncwarp.
#include "verdict.cuh"

constexpr int kWarps = 2;

__global__ void transpose_tiles(const int* x, int* y) {
  __shared__ int tiles[kWarps][32][9];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned base = (blockIdx.x * kWarps + warp) * 256;
#pragma unroll 1
  for (unsigned k = 0; k < 8; ++k) {
    tiles[warp][4 * k + lane / 8][lane % 8] = x[base + 32 * k + lane];  // other: race
  }
#ifdef FIXED
  __syncwarp();
#endif
#pragma unroll 1
  for (unsigned k = 0; k < 8; ++k) {
    y[base + 32 * k + lane] = tiles[warp][lane][k];  // expect: race
  }
}

int main() {
  const int n = 2 * kWarps * 256;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = i;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  transpose_tiles<<<2, 32 * kWarps>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    const int in_tile = i % 256;
    right = right && y[i] == x[i - in_tile + in_tile % 32 * 8 + in_tile / 32];
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
