// Threads store to a tile, and a bulk copy fills it again: the two reach shared memory by different proxies.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  for (int i = 0; i < kTiles; ++i) {
    if (threadIdx.x == 0) {
      arrive_expect(&barrier, kTileBytes);
      copy_in(tile, in + i * kTile, kTileBytes, &barrier);  // expect: async
    }
    wait(&barrier, i & 1);
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] *= 2;  // other: async
#ifdef FIXED
    fence_async();
#endif
    __syncthreads();
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[i * kTile + k] = tile[k];
    __syncthreads();
  }
}

int main() {
  return run_tiles(kernel, 1, 128);
}
