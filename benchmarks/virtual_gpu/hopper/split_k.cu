// A product whose long k is split over blocks: each adds its part to the result by a bulk reduction.
#include "../programs/check.cuh"
#include "matrices.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 64, kParts = 6, kK = kParts * kTileDepth;

__global__ void multiply(const __half* a, const __half* b, float* out) {
  __shared__ __align__(1024) __half a_tile[kM * kTileDepth], b_tile[kN * kTileDepth];
  __shared__ __align__(128) float c_tile[kM * kN];
  fill_tile(a_tile, a + blockIdx.x * kTileDepth, kM, kK);
  fill_tile(b_tile, b + blockIdx.x * kTileDepth, kN, kK);
  fence_async();
  __syncthreads();
  uint32_t d[kN / 2];
  products_fence();
  for (int step = 0; step < kTileDepth / 16; ++step)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, tile_descriptor(a_tile, step),
               tile_descriptor(b_tile, step), step > 0);
  products_commit();
  products_wait();
  store_result(d, c_tile, kN);
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(out),
                 "r"(shared_address(c_tile)), "r"(static_cast<uint32_t>(sizeof c_tile))
                 : "memory");
    commit();
    wait_reads();
  }
}

int main() {
  Report report("split_k");
  Random random(116);
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kK, -4, 4);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kK, -4, 4);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> out(std::vector<float>(kM * kN, 0.0f));
  multiply<<<kParts, 128>>>(device_a.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  report.equal("product", out.download(), product_of(a, b, kM, kN, kK));
  return report.finish();
}
