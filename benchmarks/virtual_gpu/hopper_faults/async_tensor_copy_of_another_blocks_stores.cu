// One block makes a matrix by ordinary stores and raises a flag; another one brings a box of it in. The flag
// orders the two, and shows the copy engine nothing.
#include "../hopper/tensor.cuh"
#include "fault.cuh"

using namespace hopper;

constexpr int kWidth = 64, kHeight = kTile / kWidth;

__device__ unsigned flag;

__global__ void kernel(const __grid_constant__ CUtensorMap map, const int* in, int* made, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier;
  if (blockIdx.x == 0) {
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) made[k] = 2 * in[k];  // other: async
#ifdef FIXED
    fence_async_global();
#endif
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) atomicExch(&flag, 1u);
    return;
  }
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    while (atomicAdd(&flag, 0u) == 0) {
    }
    __threadfence();
#ifdef FIXED
    fence_async_global();
#endif
    arrive_expect(&barrier, kTileBytes);
    load_box_2d(tile, &map, 0, 0, &barrier);  // expect: async
  }
  __syncthreads();
  wait(&barrier, 0);
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = tile[k];
}

int main() {
  const std::vector<int> values = tile_values();
  int* in = to_device(values);
  int *made = device_zeros<int>(kTile), *out = device_zeros<int>(kTile);
  const CUtensorMap map =
      tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, made, {kWidth, kHeight}, {kWidth * 4}, {kWidth, kHeight});
  kernel<<<2, 128>>>(map, in, made, out);
  const std::vector<int> got = to_host(out, kTile);
  bool right = true;
  for (int i = 0; i < kTile; ++i) right = right && got[i] == 2 * values[i];
  for (int* each : {in, made, out}) cudaFree(each);
  return verdict(right);
}
