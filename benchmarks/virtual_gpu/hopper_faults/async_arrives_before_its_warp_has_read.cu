// One lane frees the stage for its warp without a __syncwarp() before.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_init(&empty, 4);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    for (int i = 0; i < kTiles && threadIdx.x == 128; ++i) {
      if (i >= 1) wait(&empty, (i - 1) & 1);
      arrive_expect(&full, kTileBytes);
      copy_in(tile, in + i * kTile, kTileBytes, &full);  // expect: async
    }
    return;
  }
  for (int i = 0; i < kTiles; ++i) {
    wait(&full, i & 1);
    for (int k = threadIdx.x; k < kTile; k += 128) out[i * kTile + k] = 2 * tile[k];  // other: async
#ifdef FIXED
    __syncwarp();
#endif
    if (threadIdx.x % 32 == 0) arrive(&empty);
  }
}

int main() {
  return run_tiles(kernel, 1, 160);
}
