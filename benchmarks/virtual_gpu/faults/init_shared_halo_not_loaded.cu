// A stencil block loads its own 64 values and makes room for a halo of one on each side, but only ever
// fills the left one.
#include "verdict.cuh"

constexpr int kThreads = 64;

__global__ void sum_of_three(const int* x, int* y, int n) {
  __shared__ int tile[kThreads + 2];
  const int t = threadIdx.x;
  const int i = blockIdx.x * kThreads + t;
  tile[t + 1] = x[i];
  if (t == 0) tile[0] = i > 0 ? x[i - 1] : 0;
#ifdef FIXED
  if (t == kThreads - 1) tile[kThreads + 1] = i + 1 < n ? x[i + 1] : 0;
#endif
  __syncthreads();
  y[i] = tile[t] + tile[t + 1] + tile[t + 2];  // expect: init
}

int main() {
  const int n = 4 * kThreads;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = i * i % 31;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  sum_of_three<<<n / kThreads, kThreads>>>(device_x, device_y, n);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) {
    right = right && y[i] == (i > 0 ? x[i - 1] : 0) + x[i] + (i + 1 < n ? x[i + 1] : 0);
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
