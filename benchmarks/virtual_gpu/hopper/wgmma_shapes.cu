// wgmma on halves with results of 8 to 256 columns, each in two steps along k with several groups in flight.
#include <cuda_fp16.h>

#include "../programs/check.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kRows = 64, kDepth = 32;

template <int kColumns>
__device__ void multiply(uint32_t* d, uint64_t a, uint64_t b) {
  if constexpr (kColumns == 8) WGMMA_4_S("m64n8k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 1);
  if constexpr (kColumns == 32) WGMMA_16_S("m64n32k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 1);
  if constexpr (kColumns == 64) WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 1);
  if constexpr (kColumns == 128) WGMMA_64_S("m64n128k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 1);
  if constexpr (kColumns == 256) WGMMA_128_S("m64n256k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 1);
}

// Rows of 64 bytes, swizzled.
__host__ __device__ constexpr int place(int row, int k) {
  const int offset = row * 64 + k * 2;
  return (offset ^ (offset >> 3 & 0x30)) / 2;
}

template <int kColumns>
__global__ void __launch_bounds__(256, 1) product(const __half* a, const __half* b, float* out) {
  __shared__ __align__(1024) __half a_tile[2][kRows * kDepth], b_tile[kColumns * kDepth];
  const int group = threadIdx.x / 128, t = threadIdx.x % 128;
  for (int i = threadIdx.x; i < 2 * kRows * kDepth; i += blockDim.x)
    a_tile[i / (kRows * kDepth)][place(i / kDepth % kRows, i % kDepth)] = a[i];
  for (int i = threadIdx.x; i < kColumns * kDepth; i += blockDim.x)
    b_tile[place(i / kDepth, i % kDepth)] = b[i];
  uint32_t d[kColumns / 2];
  for (int i = 0; i < kColumns / 2; ++i) d[i] = 0;
  fence_async();
  __syncthreads();
  products_fence();
  multiply<kColumns>(d, descriptor(a_tile[group], 16, 512, 2), descriptor(b_tile, 16, 512, 2));
  products_commit();
  multiply<kColumns>(d, descriptor(a_tile[group] + 16, 16, 512, 2), descriptor(b_tile + 16, 16, 512, 2));
  products_commit();
  products_wait<1>();
  products_wait<0>();
  const int lane = t % 32, row = group * kRows + t / 32 * 16 + lane / 4;
  for (int i = 0; i < kColumns / 2; ++i)
    out[(row + 8 * (i / 2 % 2)) * kColumns + i / 4 * 8 + lane % 4 * 2 + i % 2] = __uint_as_float(d[i]);
}

template <int kColumns>
void check(Report& report, Random& random, const char* name) {
  std::vector<__half> a(2 * kRows * kDepth), b(kColumns * kDepth);
  for (__half& value : a) value = __float2half(static_cast<float>(random.below(17) - 8));
  for (__half& value : b) value = __float2half(static_cast<float>(random.below(17) - 8));
  std::vector<float> want(2 * kRows * kColumns);
  for (int i = 0; i < 2 * kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      for (int k = 0; k < kDepth; ++k)
        want[i * kColumns + j] += __half2float(a[i * kDepth + k]) * __half2float(b[j * kDepth + k]);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> out(want.size());
  product<kColumns><<<1, 256>>>(device_a.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("wgmma_shapes");
  Random random(53);
  check<8>(report, random, "n8");
  check<32>(report, random, "n32");
  check<64>(report, random, "n64");
  check<128>(report, random, "n128");
  check<256>(report, random, "n256");
  return report.finish();
}
