// One thread frees the stage for its warpgroup, in front of the wait for the product.
#include "../hopper/instructions.cuh"
#include "../hopper/wgmma.cuh"
#include "products.cuh"

using namespace hopper;

constexpr int kRounds = 4, kTileBytes = kSide * kDepth * 2;

__global__ void kernel(const __half* a, const __half* b, float* out) {
  __shared__ __align__(128) __half tiles[2][kSide * kDepth];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_init(&empty, 1);
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    for (int i = 0; i < kRounds && threadIdx.x == 128; ++i) {
      if (i >= 1) wait(&empty, (i - 1) & 1);
      arrive_expect(&full, 2 * kTileBytes);
      copy_in(tiles[0], a, kTileBytes, &full);  // expect: async
      copy_in(tiles[1], b, kTileBytes, &full);  // expect: async
    }
    return;
  }
  uint32_t d[32];
  for (int i = 0; i < kRounds; ++i) {
    wait(&full, i & 1);
    products_fence();
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, descriptor(tiles[0], 128, 256, 0),  // other: async
               descriptor(tiles[1], 128, 256, 0), 0);
    products_commit();
#ifdef FIXED
    products_wait();
#endif
    if (threadIdx.x == 70) arrive(&empty);
#ifndef FIXED
    products_wait();
#endif
  }
  store_result(d, out);
}

int main() {
  return run_product(kernel, 160, true);
}
