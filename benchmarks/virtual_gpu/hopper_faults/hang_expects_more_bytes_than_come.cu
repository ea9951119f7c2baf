// Announces twice the bytes that are copied.
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

  if (threadIdx.x == 0) {
#ifdef FIXED
    arrive_expect(&barrier, kTileBytes);
#else
    arrive_expect(&barrier, 2 * kTileBytes);
#endif
    copy_in(tile, in, kTileBytes, &barrier);
  }
  wait(&barrier, 0);  // expect: hang
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * tile[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
