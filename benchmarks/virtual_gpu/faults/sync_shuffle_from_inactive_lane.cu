// The lanes that found something reserve room with one atomic and hand its result around from lane 0. The
// mask is right, but lane 0 need not be among them.
#include "verdict.cuh"

__global__ void compact_multiples_of_three(const int* x, int* out, int* count, unsigned capacity) {
  const unsigned lane = threadIdx.x % 32;
  const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
  const bool keep = value % 3 == 0;
  const unsigned keepers = __ballot_sync(0xffffffff, keep);
  if (keep) {
#ifdef FIXED
    const unsigned leader = __ffs(keepers) - 1;
#else
    const unsigned leader = 0;
#endif
    int base = 0;
    if (lane == __ffs(keepers) - 1) base = atomicAdd(count, __popc(keepers));
    base = __shfl_sync(keepers, base, leader);  // expect: sync
    const unsigned rank = __popc(keepers & ((1u << lane) - 1));
    const unsigned slot = base + rank;
    if (slot < capacity) out[slot] = value;
  }
}

int main() {
  const int n = 96;
  std::vector<int> x(n);
  int expected = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = i + 1;
    expected += x[i] % 3 == 0 ? x[i] : 0;
  }
  int* device_x = to_device(x);
  int* device_out = device_zeros<int>(n);
  int* device_count = device_zeros<int>(1);
  compact_multiples_of_three<<<1, n>>>(device_x, device_out, device_count, n);
  int sum = 0;
  for (int value : to_host(device_out, n)) sum += value;
  const bool right = to_host(device_count, 1)[0] == n / 3 && sum == expected;
  cudaFree(device_x);
  cudaFree(device_out);
  cudaFree(device_count);
  return verdict(right);
}
