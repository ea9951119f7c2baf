// A from registers, which ldmatrix fills: rows as they lie, and with .trans from a tile that lies along m.
#include "../programs/check.cuh"
#include "matrices.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 64, kPad = 8;  // halves: ldmatrix then meets no bank twice

template <bool kTransposed>
__device__ void load_fragment(uint32_t* a, const __half* from) {
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(from))
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(shared_address(from))
                 : "memory");
}

// A comes as 64 rows of 64 halves along k, or, transposed, as 64 rows along m.
template <bool kTransposed>
__global__ void multiply(const __half* a, const __half* b, float* out) {
  __shared__ __align__(128) __half a_tile[64][64 + kPad];
  __shared__ __align__(1024) __half b_tile[kN * kTileDepth];
  for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) a_tile[i / 64][i % 64] = a[i];
  fill_tile(b_tile, b, kN, kTileDepth);
  fence_async();
  __syncthreads();
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
  uint32_t d[kN / 2], fragment[kTileDepth / 16][4];
#pragma unroll
  for (int step = 0; step < kTileDepth / 16; ++step) {
    // Matrices 0 and 1 are 8 rows apart, 2 and 3 the same rows 8 columns on.
    const int m = first + lane / 8 % 2 * 8, k = step * 16 + lane / 16 * 8;
    load_fragment<kTransposed>(fragment[step],
                               kTransposed ? &a_tile[k + lane % 8][m] : &a_tile[m + lane % 8][k]);
  }
  products_fence();
#pragma unroll
  for (int step = 0; step < kTileDepth / 16; ++step)
    WGMMA_32_R("m64n64k16.f32.f16.f16", ", -1, 1, 0", d, fragment[step], tile_descriptor(b_tile, step),
               step > 0);
  products_commit();
  products_wait();
  store_result(d, out, kN);
}

int main() {
  Report report("wgmma_from_registers");
  Random random(109);
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kTileDepth, -8, 8);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kTileDepth, -8, 8);
  std::vector<__half> transposed(a.size());
  for (int m = 0; m < kM; ++m)
    for (int k = 0; k < kTileDepth; ++k) transposed[k * kM + m] = a[m * kTileDepth + k];
  std::vector<float> want = product_of(a, b, kM, kN, kTileDepth);
  for (float& value : want) value = 0.0f - value;  // A is negated; a sum of 0 stays +0
  DeviceBuffer<__half> device_a(a), device_transposed(transposed), device_b(b);
  DeviceBuffer<float> out(kM * kN);
  multiply<false><<<1, 128>>>(device_a.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  report.equal("rows", out.download(), want);
  multiply<true><<<1, 128>>>(device_transposed.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  report.equal("columns", out.download(), want);
  return report.finish();
}
