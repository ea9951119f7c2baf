// Several groups of products in flight: a result is used as soon as its own group is done, and its registers
// begin the next product while another one still runs.
#include "../programs/check.cuh"
#include "matrices.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 64, kProducts = 4;

__device__ void multiply(uint32_t* d, const __half* a, const __half* b) {
  for (int step = 0; step < kTileDepth / 16; ++step)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, tile_descriptor(a, step), tile_descriptor(b, step),
               step > 0);
  products_commit();
}

__global__ void chain(const __half* a, const __half* b, float* out) {
  __shared__ __align__(1024) __half a_tile[kProducts][kM * kTileDepth], b_tile[kN * kTileDepth];
  for (int i = 0; i < kProducts; ++i) fill_tile(a_tile[i], a + i * kM * kTileDepth, kM, kTileDepth);
  fill_tile(b_tile, b, kN, kTileDepth);
  fence_async();
  __syncthreads();
  uint32_t even[32], odd[32];
  products_fence();
  multiply(even, a_tile[0], b_tile);
  multiply(odd, a_tile[1], b_tile);
  products_wait<1>();
  store_result(even, out, kN);
  products_fence();
  multiply(even, a_tile[2], b_tile);
  products_wait<1>();
  store_result(odd, out + kM * kN, kN);
  products_fence();
  multiply(odd, a_tile[3], b_tile);
  products_wait<1>();
  store_result(even, out + 2 * kM * kN, kN);
  products_wait<0>();
  store_result(odd, out + 3 * kM * kN, kN);
}

int main() {
  Report report("wgmma_groups");
  Random random(106);
  const std::vector<__half> a = whole_numbers<__half>(random, kProducts * kM * kTileDepth, -8, 8);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kTileDepth, -8, 8);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> out(kProducts * kM * kN);
  chain<<<1, 128>>>(device_a.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  report.equal("products", out.download(), product_of(a, b, kProducts * kM, kN, kTileDepth));
  return report.finish();
}
