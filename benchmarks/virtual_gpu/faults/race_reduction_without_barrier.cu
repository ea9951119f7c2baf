// Tree reduction in shared memory whose steps are not separated by barriers: a step adds sums that another
// warp may not have finished.
#include "verdict.cuh"

constexpr int kThreads = 256;

__global__ void block_sums(const int* x, int* sums) {
  __shared__ int partial[kThreads];
  const unsigned t = threadIdx.x;
  partial[t] = x[blockIdx.x * kThreads + t];
  __syncthreads();
#pragma unroll 1
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];  // expect: race
#ifdef FIXED
    __syncthreads();
#endif
  }
  if (t == 0) sums[blockIdx.x] = partial[0];
}

int main() {
  const int blocks = 4;
  const int n = blocks * kThreads;
  std::vector<int> x(n), expected(blocks, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = i % 11;
    expected[i / kThreads] += x[i];
  }
  int* device_x = to_device(x);
  int* device_sums = device_zeros<int>(blocks);
  block_sums<<<blocks, kThreads>>>(device_x, device_sums);
  const bool right = to_host(device_sums, blocks) == expected;
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
