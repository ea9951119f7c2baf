// Nothing orders the init before the other warps' first use.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ int tile[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) barrier_init(&barrier, blockDim.x);  // other: sync
#ifdef FIXED
  __syncthreads();
#endif
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = in[k];
  arrive(&barrier);   // expect: sync
  wait(&barrier, 0);  // expect: sync
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[kTile - 1 - k] = 2 * tile[kTile - 1 - k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
