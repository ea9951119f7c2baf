// Split-K: each block sends its part out by a bulk store, counts, and the last one adds all parts up. The
// others have waited until their part has left shared memory, not until it has arrived.
#include "fault.cuh"

using namespace hopper;

__device__ int parts[2][kTile];
__device__ unsigned count;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ bool last;
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = in[k];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_out(parts[blockIdx.x], tile, kTileBytes);  // other: async
    commit();
#ifdef FIXED
    wait_writes();
#else
    wait_reads();
#endif
    __threadfence();
    last = atomicAdd(&count, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = parts[0][k] + parts[1][k];  // expect: async
}

int main() {
  return run_tiles(kernel, 2, 128, 1);
}
