// One warp produces, one consumes, and they meet at named barrier 1. Its count is that of the whole block,
// two more warps included that never go there.
// hangs
#include "verdict.cuh"

constexpr int kThreads = 128;
#ifdef FIXED
constexpr int kMeeting = 64;
#else
constexpr int kMeeting = kThreads;
#endif

__global__ void produce_and_consume(const int* x, int* y) {
  __shared__ int tile[32];
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (warp == 0) {
    tile[lane] = 3 * x[lane];
    asm volatile("bar.arrive 1, %0;" ::"n"(kMeeting) : "memory");
  } else if (warp == 1) {
    asm volatile("bar.sync 1, %0;" ::"n"(kMeeting) : "memory");  // expect: hang
    y[lane] = tile[31 - lane];
  } else {
    y[threadIdx.x - 32] = x[threadIdx.x - 32];
  }
}

int main() {
  const int n = 96;
  std::vector<int> x(n);
  for (int i = 0; i < n; ++i) x[i] = i + 5;
  int* device_x = to_device(x);
  int* device_y = device_zeros<int>(n);
  produce_and_consume<<<1, kThreads>>>(device_x, device_y);
  const std::vector<int> y = to_host(device_y, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && y[i] == (i < 32 ? 3 * x[31 - i] : x[i]);
  cudaFree(device_x);
  cudaFree(device_y);
  return verdict(right);
}
