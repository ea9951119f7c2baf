// Waits for all groups, but the copy was never closed into one: wait_group 0 has nothing to wait for.
#include "verdict.cuh"

constexpr int kThreads = 96;

__device__ void copy_async_8(void* shared, const void* global) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(global) : "memory");
}

__device__ void commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

__device__ void wait_for_all_groups() {
  asm volatile("cp.async.wait_group 0;" ::: "memory");
}

__global__ void swap_pairs(const int2* x, int2* y) {
  __shared__ int2 tile[kThreads];
  const int t = threadIdx.x;
  copy_async_8(&tile[t], &x[t]);
#ifdef FIXED
  commit_group();
#endif
  wait_for_all_groups();
  const int2 pair = tile[t];  // expect: async
  y[t] = make_int2(pair.y, pair.x);
}

int main() {
  std::vector<int2> x(kThreads);
  for (int i = 0; i < kThreads; ++i) x[i] = make_int2(i, 1000 + i);
  int2* device_x = to_device(x);
  int2* device_y = device_zeros<int2>(kThreads);
  swap_pairs<<<1, kThreads>>>(device_x, device_y);
  const std::vector<int2> y = to_host(device_y, kThreads);
  bool right = true;
  for (int i = 0; i < kThreads; ++i) right = right && y[i].x == x[i].y && y[i].y == x[i].x;
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
