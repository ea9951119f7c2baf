// The first eight lanes exchange values through shared memory and order them with __syncwarp(), whose default
// mask asks for all 32 lanes.
#include "verdict.cuh"

__global__ void reverse_first_eight(const int* x, int* y) {
  __shared__ int tile[8];
  const unsigned lane = threadIdx.x;
  int value = x[lane];
  if (lane < 8) {
    tile[lane] = value;
#ifdef FIXED
    __syncwarp(0x000000ff);
#else
    __syncwarp();  // expect: sync
#endif
    value = tile[7 - lane];
  }
  y[lane] = value;
}

int main() {
  const int threads = 32;
  std::vector<int> x(threads);
  for (int i = 0; i < threads; ++i) x[i] = 11 * i;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(threads);
  reverse_first_eight<<<1, threads>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, threads);
  bool right = true;
  for (int i = 0; i < threads; ++i) right = right && y[i] == x[i < 8 ? 7 - i : i];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
