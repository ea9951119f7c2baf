// One thread sends a tile out and lets the copy engine bring it back, without a wait in between.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile], back[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = in[k];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_out(out, tile, kTileBytes);  // other: async
    commit();
#ifdef FIXED
    wait_writes();
#endif
    arrive_expect(&barrier, kTileBytes);
    copy_in(back, out, kTileBytes, &barrier);  // expect: async
    wait_writes();
  }
  wait(&barrier, 0);
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * back[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
