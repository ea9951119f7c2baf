// A kernel changes a tensor map in device memory, and acquires what it has not released.
#include "../hopper/maps.cuh"
#include "changed_map.cuh"

using namespace hopper;

__global__ void kernel(const __grid_constant__ CUtensorMap, const int* in, CUtensorMap* map, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    replace_address(map, in);  // other: async
#ifdef FIXED
    release_maps();
#endif
    acquire_map(map);
    arrive_expect(&barrier, kTileBytes);
    load_box_2d(tile, map, 0, 0, &barrier);  // expect: async
  }
  __syncthreads();
  wait(&barrier, 0);
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * tile[k];
}

int main() {
  return run_changed_map(kernel);
}
