// Prefix sum by doubling, in place, with one barrier a step. A step reads its neighbour's word while that
// neighbour overwrites it: the read and the write of one step need a barrier between them.
#include "verdict.cuh"

constexpr int kThreads = 256;

__global__ void prefix_sums(int* values) {
  __shared__ int sums[kThreads];
  const int t = threadIdx.x;
  sums[t] = values[t];
  __syncthreads();
#pragma unroll 1
  for (int distance = 1; distance < kThreads; distance *= 2) {
#ifdef FIXED
    const int left = t >= distance ? sums[t - distance] : 0;
    __syncthreads();
    sums[t] += left;
#else
    if (t >= distance) sums[t] += sums[t - distance];  // expect: race
#endif
    __syncthreads();
  }
  values[t] = sums[t];
}

int main() {
  std::vector<int> values(kThreads), expected(kThreads);
  for (int i = 0, sum = 0; i < kThreads; ++i) {
    values[i] = i % 9;
    expected[i] = sum += values[i];
  }
  int* device_values = to_device(values);
  prefix_sums<<<1, kThreads>>>(device_values);
  const bool right = to_host(device_values, kThreads) == expected;
  cudaFree(device_values);
  return verdict(right);
}
