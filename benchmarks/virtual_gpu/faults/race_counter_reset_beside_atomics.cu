// One thread clears a shared counter and all threads count into it, without a barrier between the two: a
// warp that counts early has its counts cleared.
#include "verdict.cuh"

__global__ void count_even(const int* x, int* count) {
  __shared__ int local;
  if (threadIdx.x == 0) local = 0;  // other: race
#ifdef FIXED
  __syncthreads();
#endif
  if (x[blockIdx.x * blockDim.x + threadIdx.x] % 2 == 0) atomicAdd(&local, 1);  // expect: race
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(count, local);
}

int main() {
  const int threads = 192, n = 2 * threads;
  std::vector<int> x(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = 7 * i % 12;
    expected += x[i] % 2 == 0;
  }
  int* device_x = to_device(x);
  int* device_count = device_zeros<int>(1);
  count_even<<<2, threads>>>(device_x, device_count);
  const bool right = to_host(device_count, 1)[0] == expected;
  cudaFree(device_x);
  cudaFree(device_count);
  return verdict(right);
}
