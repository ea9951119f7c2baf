// The producer does not wait until the consumers are done with a stage.
#include "fault.cuh"

using namespace hopper;

__global__ void kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[2][kTile];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 4);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < kTiles && threadIdx.x == 0; ++i) {
      const int s = i % 2;
#ifdef FIXED
      if (i >= 2) wait(&empty[s], (i / 2 - 1) & 1);
#else
      if (i >= 2) wait(&full[s], (i / 2 - 1) & 1);
#endif
      arrive_expect(&full[s], kTileBytes);
      copy_in(tile[s], in + i * kTile, kTileBytes, &full[s]);  // expect: async
    }
    return;
  }
  for (int i = 0; i < kTiles; ++i) {
    const int s = i % 2;
    wait(&full[s], (i / 2) & 1);                                                              // expect: async
    for (int k = threadIdx.x - 32; k < kTile; k += 128) out[i * kTile + k] = 2 * tile[s][k];  // expect: async
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(&empty[s]);
  }
}

int main() {
  return run_tiles(kernel, 1, 160);
}
