// The source of a bulk copy begins at a multiple of 16 bytes.
// hangs
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

#ifdef FIXED
  const int* from = in + 4;
#else
  const int* from = in + 1;
#endif
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, 512);
    copy_in(tile, from, 512, &barrier);  // expect: memory
  }
#ifdef FIXED
  wait(&barrier, 0);
#endif
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[k] = 2 * in[k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
