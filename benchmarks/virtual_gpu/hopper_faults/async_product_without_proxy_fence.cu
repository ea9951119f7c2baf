// The tiles are written by ordinary stores; a barrier follows, and no proxy fence.
#include "../hopper/wgmma.cuh"
#include "products.cuh"

using namespace hopper;

__global__ void kernel(const __half* a, const __half* b, float* out) {
  __shared__ __align__(128) __half a_tile[kSide * kDepth], b_tile[kSide * kDepth];
  fill_tile(a_tile, a);
  fill_tile(b_tile, b);
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  const uint64_t a_matrix = descriptor(a_tile, 128, 256, 0), b_matrix = descriptor(b_tile, 128, 256, 0);
#ifdef FIXED
  fence_async();
#endif
  __syncthreads();
  products_fence();
  WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, a_matrix, b_matrix, 1);  // expect: async
  products_commit();
  products_wait();
  store_result(d, out);
}

int main() {
  return run_product(kernel, 128);
}
