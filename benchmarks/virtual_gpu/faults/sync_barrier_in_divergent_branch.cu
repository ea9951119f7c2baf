// Only the threads that hold input take part in the staging, barrier included. The branch splits a warp, so
// the barrier is reached by some of its lanes and not by others.
#include "verdict.cuh"

constexpr int kThreads = 128;

__global__ void swap_neighbours(const int* x, int* y, int n) {
  __shared__ int tile[kThreads];
  const int t = threadIdx.x;
  tile[t] = 0;
  __syncthreads();
  if (t < n) {
    tile[t] = x[t];
#ifndef FIXED
    __syncthreads();  // expect: sync
#endif
  }
#ifdef FIXED
  __syncthreads();
#endif
  if (t < n) y[t] = tile[t ^ 1];
}

int main() {
  const int n = 100;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = 3 * i + 2;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  swap_neighbours<<<1, kThreads>>>(device_x, device_y, n);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == x[i ^ 1];
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
