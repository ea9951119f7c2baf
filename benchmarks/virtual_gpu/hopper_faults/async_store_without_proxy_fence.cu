// A barrier stands between the writes and the bulk store, and no proxy fence.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * in[k];  // other: async
#ifdef FIXED
  fence_async();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_out(out, tile, kTileBytes);  // expect: async
    commit();
    wait_writes();
  }
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
