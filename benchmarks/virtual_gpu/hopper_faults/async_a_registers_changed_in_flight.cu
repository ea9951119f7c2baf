// The registers of A are loaded anew before the product was waited for.
#include "../hopper/wgmma.cuh"
#include "products.cuh"

using namespace hopper;

__global__ void kernel(const __half* a, const __half* b, float* out) {
  __shared__ __align__(128) __half b_tile[kSide * kDepth];
  fill_tile(b_tile, b);
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  const uint64_t b_matrix = descriptor(b_tile, 128, 256, 0);
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  const uint32_t* words = reinterpret_cast<const uint32_t*>(a);
  uint32_t part[4];
  for (int i = 0; i < 4; ++i) part[i] = words[(row + 8 * (i % 2)) * 8 + lane % 4 + 4 * (i / 2)];
  fence_async();
  __syncthreads();
  products_fence();
  WGMMA_32_R("m64n64k16.f32.f16.f16", ", 1, 1, 0", d, part, b_matrix, 1);  // other: async
  products_commit();
#ifdef FIXED
  products_wait();
#endif
  asm volatile("add.u32 %0, %0, 1;" : "+r"(part[0]));  // expect: async
#ifndef FIXED
  products_wait();
#endif
  store_result(d, out);
  if (part[0] == 12345) out[0] = 0;
}

int main() {
  return run_product(kernel, 128);
}
