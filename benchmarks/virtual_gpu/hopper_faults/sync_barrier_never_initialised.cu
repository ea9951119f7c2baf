// Of two barriers one is initialised.
// hangs
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier[2];
  if (threadIdx.x == 0) {
    barrier_init(&barrier[0], 1);
#ifdef FIXED
    barrier_init(&barrier[1], 1);
#endif
  }
  __syncthreads();
  if (threadIdx.x == 0) arrive(&barrier[1]);  // expect: sync
  wait(&barrier[1], 0);                       // expect: sync
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * in[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
