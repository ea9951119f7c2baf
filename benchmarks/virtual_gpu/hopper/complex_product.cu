// A product of complex matrices by four real ones: wgmma negates an operand where i times i is -1, and its
// scale-d begins a sum anew or goes on with it.
#include "../programs/check.cuh"
#include "matrices.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kSide = 64, kTile = kSide * kTileDepth;

__global__ void multiply(const __half* a, const __half* b, float* out) {
  __shared__ __align__(1024) __half a_tile[2][kTile], b_tile[2][kTile];  // real parts, imaginary parts
  for (int part = 0; part < 2; ++part) {
    fill_tile(a_tile[part], a + part * kTile, kSide, kTileDepth);
    fill_tile(b_tile[part], b + part * kTile, kSide, kTileDepth);
  }
  fence_async();
  __syncthreads();
  uint32_t real[32], imaginary[32];
  products_fence();
  for (int step = 0; step < kTileDepth / 16; ++step) {
    const uint64_t ar = tile_descriptor(a_tile[0], step), ai = tile_descriptor(a_tile[1], step);
    const uint64_t br = tile_descriptor(b_tile[0], step), bi = tile_descriptor(b_tile[1], step);
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", real, ar, br, step > 0);
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, -1, 0, 0", real, ai, bi, 1);
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", imaginary, ar, bi, step > 0);
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", imaginary, ai, br, 1);
  }
  products_commit();
  products_wait();
  store_result(real, out, kSide);
  store_result(imaginary, out + kSide * kSide, kSide);
}

int main() {
  Report report("complex_product");
  Random random(107);
  const std::vector<__half> a = whole_numbers<__half>(random, 2 * kTile, -8, 8);
  const std::vector<__half> b = whole_numbers<__half>(random, 2 * kTile, -8, 8);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> out(2 * kSide * kSide);
  multiply<<<1, 128>>>(device_a.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  // Rows 0 to 63 are the real parts of A, 64 to 127 the imaginary ones; columns likewise.
  const std::vector<float> parts = product_of(a, b, 2 * kSide, 2 * kSide, kTileDepth);
  std::vector<float> want(2 * kSide * kSide);
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      auto part = [&](int of_a, int of_b) {
        return parts[(of_a * kSide + i) * 2 * kSide + of_b * kSide + j];
      };
      want[i * kSide + j] = part(0, 0) - part(1, 1);
      want[(kSide + i) * kSide + j] = part(0, 1) + part(1, 0);
    }
  report.equal("parts", out.download(), want);
  return report.finish();
}
