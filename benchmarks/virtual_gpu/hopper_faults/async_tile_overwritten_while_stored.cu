// The next tile is written while the bulk store still reads the last.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  for (int i = 0; i < kTiles; ++i) {
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * in[i * kTile + k];  // expect: async
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      copy_out(out + i * kTile, tile, kTileBytes);  // other: async
      commit();
#ifdef FIXED
      wait_reads();
#endif
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) wait_writes();
}

int main() {
  return run_tiles(kernel, 1, 128);
}
