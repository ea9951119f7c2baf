// Four warps meet at named barrier 1, which expects 64 threads: any two warps open it, and read
// what the other two have not stored yet.
#include "verdict.cuh"

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / 32;
#ifdef FIXED
constexpr int kExpected = kThreads;
#else
constexpr int kExpected = 64;
#endif

__device__ void named_barrier() {
  asm volatile("bar.sync 1, %0;" ::"n"(kExpected) : "memory");
}

__global__ void add_all_warps(const int* x, int* y) {
  __shared__ int rows[kWarps][32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  rows[warp][lane] = x[threadIdx.x];  // other: race
  named_barrier();
  int sum = 0;
#pragma unroll 1
  for (int w = 0; w < kWarps; ++w) sum += rows[w][lane];  // expect: race
  y[threadIdx.x] = sum;
}

int main() {
  std::vector<int> x(kThreads);
  for (int i = 0; i < kThreads; ++i) x[i] = i * i;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(kThreads);
  add_all_warps<<<1, kThreads>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, kThreads);
  bool right = true;
  for (int i = 0; i < kThreads; ++i) {
    int expected = 0;
    for (int w = 0; w < kWarps; ++w) expected += x[32 * w + i % 32];
    right = right && y[i] == expected;
  }
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
