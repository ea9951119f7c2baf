// The last tile reaches past the end of the array.
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
  const int* last = in + (kTiles - 1) * kTile;
#else
  const int* last = in + kTiles * kTile - 192;
#endif
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, kTileBytes);
    copy_in(tile, last, kTileBytes, &barrier);  // expect: memory
  }
#ifdef FIXED
  wait(&barrier, 0);
#endif
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * in[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
