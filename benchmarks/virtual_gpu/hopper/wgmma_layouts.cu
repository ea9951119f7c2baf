// wgmma m64n64k16 on halves: all swizzles of shared memory, A and B along k or transposed, several steps
// along k inside of one swizzled row.
#include <cuda_fp16.h>

#include "../programs/check.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kSide = 64, kMostBytes = 64 * 128;

struct Layout {
  uint32_t leading, stride, step;  // bytes: of the descriptor, and from one step along k to the next
  uint64_t swizzle;
};

template <int kTransA, int kTransB>
__device__ void multiply(uint32_t* d, uint64_t a, uint64_t b, int adds) {
  if constexpr (kTransA == 0 && kTransB == 0)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, adds);
  if constexpr (kTransA == 0 && kTransB == 1)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 1", d, a, b, adds);
  if constexpr (kTransA == 1 && kTransB == 0)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 1, 0", d, a, b, adds);
  if constexpr (kTransA == 1 && kTransB == 1)
    WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 1, 1", d, a, b, adds);
}

template <int kTransA, int kTransB>
__global__ void product(const uint8_t* a, const uint8_t* b, Layout of_a, Layout of_b, int bytes, int steps,
                        float* out) {
  __shared__ __align__(1024) uint8_t a_tile[kMostBytes], b_tile[kMostBytes];
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) {
    a_tile[i] = a[i];
    b_tile[i] = b[i];
  }
  fence_async();
  __syncthreads();
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0x7fc00000;  // the first step adds nothing to it
  products_fence();
  for (int s = 0; s < steps; ++s)
    multiply<kTransA, kTransB>(d, descriptor(a_tile + s * of_a.step, of_a.leading, of_a.stride, of_a.swizzle),
                               descriptor(b_tile + s * of_b.step, of_b.leading, of_b.stride, of_b.swizzle),
                               s > 0);
  products_commit();
  products_wait();
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  for (int i = 0; i < 32; ++i)
    out[(row + 8 * (i / 2 % 2)) * kSide + i / 4 * 8 + lane % 4 * 2 + i % 2] = __uint_as_float(d[i]);
}

// Where element (i, k) of a matrix with `depth` elements along k lies, and the descriptor that says so.
struct Place {
  int width, depth;
  bool transposed;
  uint32_t at(int i, int k) const {
    if (!transposed) {
      if (width == 16) return (i / 8 * (depth / 8) + k / 8) * 128 + i % 8 * 16 + k % 8 * 2;
      return swizzled(i * width + k * 2, width);
    }
    if (width == 16) return (i / 8 * (depth / 8) + k / 8) * 128 + k % 8 * 16 + i % 8 * 2;
    return swizzled(i * 2 / width * (depth * width) + k * width + i * 2 % width, width);
  }
  Layout layout() const {
    const uint64_t mode = width == 128 ? 1 : width == 64 ? 2 : width == 32 ? 3 : 0;
    const uint32_t w = width, all = static_cast<uint32_t>(depth) / 8 * 128;
    if (width == 16) return {128, all, 256, 0};
    if (!transposed) return {16, 8 * w, 32, mode};
    return {static_cast<uint32_t>(depth) * w, 8 * w, 16 * w, mode};
  }
};

template <int kTransA, int kTransB>
void check(Report& report, Random& random, const char* name, int width_a, int width_b) {
  // Along k a row of the pattern is the tile's depth; transposed and without a swizzle any depth will do.
  const int depth = !kTransA && width_a != 16 ? width_a / 2 : !kTransB && width_b != 16 ? width_b / 2 : 32;
  const Place of_a{width_a, depth, kTransA != 0}, of_b{width_b, depth, kTransB != 0};
  const int bytes = kSide * depth * 2;
  std::vector<uint8_t> a(bytes), b(bytes);
  std::vector<float> a_values(kSide * depth), b_values(kSide * depth), want(kSide * kSide);
  for (int i = 0; i < kSide; ++i)
    for (int k = 0; k < depth; ++k) {
      const float x = static_cast<float>(random.below(17) - 8), y = static_cast<float>(random.below(17) - 8);
      const __half hx = __float2half(x), hy = __float2half(y);
      a_values[i * depth + k] = x;
      b_values[i * depth + k] = y;
      std::memcpy(&a[of_a.at(i, k)], &hx, 2);
      std::memcpy(&b[of_b.at(i, k)], &hy, 2);
    }
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j)
      for (int k = 0; k < depth; ++k)
        want[i * kSide + j] += a_values[i * depth + k] * b_values[j * depth + k];
  DeviceBuffer<uint8_t> device_a(a), device_b(b);
  DeviceBuffer<float> out(kSide * kSide);
  product<kTransA, kTransB><<<1, 128>>>(device_a.get(), device_b.get(), of_a.layout(), of_b.layout(), bytes,
                                        depth / 16, out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("wgmma_layouts");
  Random random(52);
  check<0, 0>(report, random, "plain", 16, 16);
  check<0, 0>(report, random, "swizzle_32", 32, 32);
  check<0, 0>(report, random, "swizzle_64", 64, 64);
  check<0, 0>(report, random, "swizzle_128", 128, 128);
  check<0, 1>(report, random, "b_plain_transposed", 16, 16);
  check<0, 1>(report, random, "b_32_transposed", 32, 32);
  check<0, 1>(report, random, "b_64_transposed", 64, 64);
  check<0, 1>(report, random, "b_128_transposed", 128, 128);
  check<1, 0>(report, random, "a_plain_transposed", 16, 64);
  check<1, 0>(report, random, "a_64_transposed", 64, 128);
  check<1, 0>(report, random, "a_128_transposed", 128, 32);
  check<1, 1>(report, random, "both_plain_transposed", 16, 16);
  check<1, 1>(report, random, "both_32_transposed", 32, 64);
  check<1, 1>(report, random, "both_128_transposed", 128, 128);
  return report.finish();
}
