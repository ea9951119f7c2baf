// A tile goes out by a bulk store and is read back when its source has been read, not when it has been
// written.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = in[k];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_out(out, tile, kTileBytes);  // other: async
    commit();
#ifdef FIXED
    wait_writes();
#else
    wait_reads();
#endif
  }
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * out[k];  // expect: async
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = tile[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
