// Fills the shared tile only where there is input, then reduces all of it: in the last block the tail of the
// tile holds whatever the previous block left there.
#include <algorithm>

#include "verdict.cuh"

constexpr int kThreads = 128;

__global__ void block_maxima(const int* x, int* maxima, int n) {
  __shared__ int tile[kThreads];
  const int t = threadIdx.x;
  const int i = blockIdx.x * kThreads + t;
#ifdef FIXED
  tile[t] = i < n ? x[i] : 0;
#else
  if (i < n) tile[t] = x[i];
#endif
  __syncthreads();
#pragma unroll 1
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) tile[t] = max(tile[t], tile[t + half]);  // expect: init
    __syncthreads();
  }
  if (t == 0) maxima[blockIdx.x] = tile[0];
}

int main() {
  const int n = 300, blocks = 3;
  std::vector<int> x(n), expected(blocks, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = 37 * i % 101 + 1;
    expected[i / kThreads] = std::max(expected[i / kThreads], x[i]);
  }
  int* device_x = to_device(x);
  int* device_maxima = device_zeros<int>(blocks);
  block_maxima<<<blocks, kThreads>>>(device_x, device_maxima, n);
  const bool right = to_host(device_maxima, blocks) == expected;
  cudaFree(device_x);
  cudaFree(device_maxima);
  return verdict(right);
}
