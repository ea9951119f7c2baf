// A warp strides over n values and votes in every step with a full mask. n is not a multiple of 32, so the
// last vote is taken by a part of the warp only.
#include "verdict.cuh"

__global__ void count_large(const int* x, int* count, int n, int limit) {
  const int lane = threadIdx.x;
  int found = 0;
#ifdef FIXED
  const int end = (n + 31) / 32 * 32;
#else
  const int end = n;
#endif
#pragma unroll 1
  for (int i = lane; i < end; i += 32) {
    const bool large = i < n && x[i] > limit;
    found += __popc(__ballot_sync(0xffffffff, large));  // expect: sync
  }
  if (lane == 0) *count = found;
}

int main() {
  const int n = 150, limit = 40;
  std::vector<int> x(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = 23 * i % 71;
    expected += x[i] > limit;
  }
  int* device_x = to_device(x);
  int* device_count = device_zeros<int>(1);
  count_large<<<1, 32>>>(device_x, device_count, n, limit);
  const bool right = to_host(device_count, 1)[0] == expected;
  cudaFree(device_x);
  cudaFree(device_count);
  return verdict(right);
}
