// The consumer takes one tile more than the producer brings.
// hangs
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

#ifdef FIXED
  const int rounds = kTiles;
#else
  const int rounds = kTiles + 1;
#endif
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x == 0 && i < kTiles) {
      arrive_expect(&barrier, kTileBytes);
      copy_in(tile, in + i * kTile, kTileBytes, &barrier);
    }
    wait(&barrier, i & 1);  // expect: hang
    for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[i * kTile + k] = 2 * tile[k];
    __syncthreads();
  }
}

int main() {
  return run_tiles(kernel, 1, 128);
}
