// Begins with parity 1: the phase before the first counts as over.
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
      arrive_expect(&barrier, kTileBytes);                  // other: async
      copy_in(tile, in + i * kTile, kTileBytes, &barrier);  // other: async
    }
#ifdef FIXED
    wait(&barrier, i & 1);
#else
    wait(&barrier, (i + 1) & 1);
#endif
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[i * kTile + k] = 2 * tile[k];  // expect: async
    __syncthreads();
  }
}

int main() {
  return run_tiles(kernel, 1, 128);
}
