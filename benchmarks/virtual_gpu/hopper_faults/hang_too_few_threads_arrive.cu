// The barrier counts all threads, and one lane of each warp arrives.
// hangs
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ int tile[kTile];
  __shared__ uint64_t barrier;
#ifdef FIXED
  if (threadIdx.x == 0) barrier_init(&barrier, blockDim.x / 32);
#else
  if (threadIdx.x == 0) barrier_init(&barrier, blockDim.x);
#endif
  __syncthreads();
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = in[k];
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive(&barrier);
  wait(&barrier, 0);  // expect: hang
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[kTile - 1 - k] = 2 * tile[kTile - 1 - k];
}

int main() {
  return run_tiles(kernel, 1, 128, 1);
}
