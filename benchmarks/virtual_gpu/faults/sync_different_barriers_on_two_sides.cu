// Even and odd lanes each prepare their half of the tile and each has its own __syncthreads. One barrier is
// one place in the program: lanes of a warp must not meet at two.
#include "verdict.cuh"

constexpr int kThreads = 64;

__global__ void mix(const int* x, int* y) {
  __shared__ int tile[kThreads];
  const int t = threadIdx.x;
  if (t % 2 == 0) {
    tile[t] = 2 * x[t];
#ifndef FIXED
    __syncthreads();  // expect: sync
#endif
    atomicAdd(&y[kThreads], 1);
  } else {
    tile[t] = -x[t];
#ifndef FIXED
    __syncthreads();  // expect: sync
#endif
    atomicMax(&y[kThreads + 1], x[t]);
  }
#ifdef FIXED
  __syncthreads();
#endif
  y[t] = tile[kThreads - 1 - t];
}

int main() {
  std::vector<int> x(kThreads);
  for (int i = 0; i < kThreads; ++i) x[i] = i + 10;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(kThreads + 2);
  mix<<<1, kThreads>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, kThreads + 2);
  bool right = y[kThreads] == kThreads / 2 && y[kThreads + 1] == kThreads + 9;
  for (int i = 0; i < kThreads; ++i) {
    const int source = kThreads - 1 - i;
    right = right && y[i] == (source % 2 == 0 ? 2 * x[source] : -x[source]);
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
