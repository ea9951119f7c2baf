// One warp waits for the copy; the others read without a barrier behind it.
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
    arrive_expect(&barrier, kTileBytes);
    copy_in(tile, in, kTileBytes, &barrier);  // other: async
  }
  if (threadIdx.x < 32) wait(&barrier, 0);
#ifdef FIXED
  __syncthreads();
#endif
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * tile[k];  // expect: async
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
