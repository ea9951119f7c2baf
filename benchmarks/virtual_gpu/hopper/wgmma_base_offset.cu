// wgmma on tiles whose swizzle begins at a row of 128 bytes that is no multiple of the pattern: the base
// offset of the descriptor says at which. Threads write the tile, counting the pattern's rows from its own
// beginning.
#include <cuda_fp16.h>

#include "../programs/check.cuh"
#include "matrices.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kSide = 64, kDepth = 16, kPatternRow = 128;

// Bytes of a row of the pattern, where the tile begins in rows of 128 bytes, and whether its rows go along k.
struct Layout {
  int width, row;
  bool along_k;
  __host__ __device__ uint32_t at(int i, int k) const {
    const uint32_t linear =
        along_k ? i * width + k * 2 : i * 2 / width * (kDepth * width) + k * width + i * 2 % width;
    return row * kPatternRow + swizzled(linear, width);
  }
  __device__ uint64_t matrix(const uint8_t* tile) const {
    const uint64_t mode = width == 128 ? 1 : width == 64 ? 2 : 3;
    return descriptor(tile + row * kPatternRow, along_k ? 16 : kDepth * width, 8 * width, mode) |
           static_cast<uint64_t>(row % 8) << 49;
  }
};

template <bool kAlongK>
__global__ void product(const __half* a, const __half* b, Layout of_a, Layout of_b, float* out) {
  __shared__ __align__(1024) uint8_t a_tile[2 * kSide * kPatternRow], b_tile[2 * kSide * kPatternRow];
  for (int i = threadIdx.x; i < kSide * kDepth; i += blockDim.x) {
    memcpy(a_tile + of_a.at(i / kDepth, i % kDepth), a + i, 2);
    memcpy(b_tile + of_b.at(i / kDepth, i % kDepth), b + i, 2);
  }
  fence_async();
  __syncthreads();
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  products_fence();
  if constexpr (kAlongK)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, of_a.matrix(a_tile), of_b.matrix(b_tile), 0);
  else
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 1, 1", d, of_a.matrix(a_tile), of_b.matrix(b_tile), 0);
  products_commit();
  products_wait();
#pragma unroll
  for (int i = 0; i < 32; ++i) out[result_row(i) * kSide + result_column(i)] = __uint_as_float(d[i]);
}

template <bool kAlongK>
void check(Report& report, Random& random, int width) {
  for (int row = 0; row < 8; ++row) {
    const std::vector<__half> a = whole_numbers<__half>(random, kSide * kDepth, -8, 8);
    const std::vector<__half> b = whole_numbers<__half>(random, kSide * kDepth, -8, 8);
    const DeviceBuffer<__half> device_a(a), device_b(b);
    const DeviceBuffer<float> out(kSide * kSide);
    product<kAlongK><<<1, 128>>>(device_a.get(), device_b.get(), {width, row, kAlongK},
                                 {width, 7 - row, kAlongK}, out.get());
    LAUNCHED_OK();
    report.equal(kAlongK ? "along_k" : "transposed", out.download(), product_of(a, b, kSide, kSide, kDepth));
  }
}

int main() {
  Report report("wgmma_base_offset");
  Random random(31);
  for (const int width : {32, 64, 128}) {
    check<true>(report, random, width);
    check<false>(report, random, width);
  }
  return report.finish();
}
