// One thread is done and invalidates the barrier; others have not arrived.
// hangs
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) barrier_init(&barrier, blockDim.x);
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * in[k];
  arrive(&barrier);  // expect: sync
#ifdef FIXED
  wait(&barrier, 0);
  __syncthreads();
#endif
  if (threadIdx.x == 0) barrier_inval(&barrier);  // expect: sync
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
