// Nobody waits for the bulk store before the block ends.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * in[k];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_out(out, tile, kTileBytes);  // expect: async
    commit();
#ifdef FIXED
    wait_reads();
#endif
  }
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
