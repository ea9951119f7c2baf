// Clears the padding of a row after starting the copy that fills it, one word too early: the store goes into
// bytes that the pending cp.async still owns.
#include <cuda_pipeline.h>

#include "verdict.cuh"

constexpr int kRows = 64;
constexpr int kValid = 3;

__global__ void padded_row_sums(const int4* x, int* sums) {
  __shared__ int4 tile[kRows];
  const int row = threadIdx.x;
  __pipeline_memcpy_async(&tile[row], &x[row], sizeof(int4));
  __pipeline_commit();
#ifdef FIXED
  __pipeline_wait_prior(0);
#endif
  int* words = reinterpret_cast<int*>(&tile[row]);
  words[kValid] = 0;  // expect: async
  __pipeline_wait_prior(0);
  const int4 v = tile[row];
  sums[row] = v.x + v.y + v.z + v.w;
}

int main() {
  std::vector<int4> x(kRows);
  for (int i = 0; i < kRows; ++i) x[i] = make_int4(i, 2 * i, 3 * i, -1);
  int4* device_x = to_device(x);
  int* device_sums = device_zeros<int>(kRows);
  padded_row_sums<<<1, kRows>>>(device_x, device_sums);
  const std::vector<int> sums = to_host(device_sums, kRows);
  bool right = true;
  for (int i = 0; i < kRows; ++i) right = right && sums[i] == 6 * i;
  cudaFree(device_x);
  cudaFree(device_sums);
  return verdict(right);
}
