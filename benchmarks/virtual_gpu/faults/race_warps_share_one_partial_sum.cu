// Each warp reduces with shuffles and stores its sum for the last step, but all into the same word instead
// of one word a warp: the last writer wins.
#include "verdict.cuh"

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;

__global__ void block_sum(const int* x, int* sum) {
  __shared__ int partial[kWarps];
  if (threadIdx.x < kWarps) partial[threadIdx.x] = 0;
  __syncthreads();
  int value = x[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffff, value, distance);
#ifdef FIXED
  const unsigned slot = threadIdx.x / 32;
#else
  const unsigned slot = 0;
#endif
  if (threadIdx.x % 32 == 0) partial[slot] = value;  // expect: race
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0;
    for (int warp = 0; warp < kWarps; ++warp) total += partial[warp];
    *sum = total;
  }
}

int main() {
  std::vector<int> x(kThreads);
  int expected = 0;
  for (int i = 0; i < kThreads; ++i) expected += x[i] = i % 17;
  int* device_x = to_device(x);
  int* device_sum = device_zeros<int>(1);
  block_sum<<<1, kThreads>>>(device_x, device_sum);
  const bool right = to_host(device_sum, 1)[0] == expected;
  cudaFree(device_x);
  cudaFree(device_sum);
  return verdict(right);
}
