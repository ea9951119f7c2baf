// A kernel makes a tensor map in shared memory and publishes it in device memory; the thread that copies by
// it does not acquire it.
#include "../hopper/maps.cuh"
#include "changed_map.cuh"

using namespace hopper;

__global__ void kernel(const __grid_constant__ CUtensorMap pattern, const int* in, CUtensorMap* map,
                       int* out) {
  __shared__ __align__(128) CUtensorMap made;
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    made = pattern;
    replace_address_in_shared(&made, in);
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncwarp();
  if (threadIdx.x < 32) publish_map(map, &made);  // other: async
  __syncthreads();
  if (threadIdx.x == 0) {
#ifdef FIXED
    acquire_map(map);
#endif
    arrive_expect(&barrier, kTileBytes);
    load_box_2d(tile, map, 0, 0, &barrier);  // expect: async
  }
  wait(&barrier, 0);
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * tile[k];
}

int main() {
  return run_changed_map(kernel);
}
