// A tile is stored one row above the tensor. A load from there is filled with zeros; a store stops the
// kernel.
#include "../hopper/tensor.cuh"
#include "fault.cuh"

using namespace hopper;

#ifdef FIXED
constexpr int kFirstRow = 0;
#else
constexpr int kFirstRow = -1;
#endif

__global__ void kernel(const __grid_constant__ CUtensorMap map) {
  __shared__ __align__(128) int tile[8 * 8];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box_2d(&map, tile, 0, kFirstRow);  // expect: memory
    commit();
    wait_writes();
  }
}

int main() {
  int* out = device_zeros<int>(8 * 24);
  const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, out, {8, 24}, {32}, {8, 8});
  kernel<<<1, 64>>>(map);
  const std::vector<int> got = to_host(out, 8 * 24);
  bool right = true;
  for (int i = 0; i < 8 * 24; ++i) right = right && got[i] == (i < 64 ? i + 1 : 0);
  cudaFree(out);
  return verdict(right);
}
