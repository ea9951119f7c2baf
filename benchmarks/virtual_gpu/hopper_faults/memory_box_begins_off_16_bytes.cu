// Along its first dimension a box begins at a multiple of 16 bytes.
// hangs
#include "../hopper/tensor.cuh"
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const __grid_constant__ CUtensorMap map, int x, int* out) {
  __shared__ __align__(128) int tile[8 * 8];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof tile);
    load_box_2d(tile, &map, x, 0, &barrier);  // expect: memory
  }
#ifdef FIXED
  wait(&barrier, 0);
  out[threadIdx.x] = tile[threadIdx.x];
#endif
}

int main() {
  const std::vector<int> values = tile_values();
  int* in = to_device(values);
  int* out = device_zeros<int>(64);
  const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, in, {64, 24}, {256}, {8, 8});
#ifdef FIXED
  const int x = 4;
#else
  const int x = 3;
#endif
  kernel<<<1, 64>>>(map, x, out);
  const std::vector<int> got = to_host(out, 64);
  bool right = true;
  for (int i = 0; i < 64; ++i) right = right && got[i] == values[i / 8 * 64 + x + i % 8];
  cudaFree(in);
  cudaFree(out);
  return verdict(right);
}
