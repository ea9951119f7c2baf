// Threads write a tile to device memory, and the copy engine brings it in. The fence is for shared memory.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * in[k];  // other: async
#ifdef FIXED
  fence_async_global();
#else
  fence_async();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, kTileBytes);
    copy_in(tile, out, kTileBytes, &barrier);  // expect: async
  }
  wait(&barrier, 0);
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = tile[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
