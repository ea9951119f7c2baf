// wgmma on bits: every number of columns, A from registers and from shared memory, all swizzles of A and of
// B, steps along k inside of a swizzled row, and sums that wrap.
#include "../programs/check.cuh"
#include "bits.cuh"

using namespace hopper;

constexpr int kRows = 64, kMostColumns = 256, kRowBytes = 32, kMostWidth = 128;
constexpr uint32_t kNearTheEnd = 0x7fffff80;  // some sums wrap from here

// A tile in shared memory: bytes of a row of its swizzle's pattern (16: none), and what is multiplied of it.
struct Layout {
  int width, step;
  __host__ __device__ uint32_t at(int row, int byte) const {
    if (width == 16) return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
    return swizzled(row * width + step * kRowBytes + byte, width);
  }
  __device__ uint64_t matrix(const uint8_t* tile) const {
    if (width == 16) return descriptor(tile, 128, 256, 0);
    return descriptor(tile + step * kRowBytes, 16, 8 * width, width == 128 ? 1 : width == 64 ? 2 : 3);
  }
};

template <int kColumns, bool kRegisters>
__global__ void product(const uint8_t* a, const uint8_t* b, Layout of_a, Layout of_b, int adds,
                        uint32_t* out) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  uint8_t *const a_tile = tiles, *const b_tile = tiles + kRows * kMostWidth;
  for (int i = threadIdx.x; i < kRows * kRowBytes; i += blockDim.x)
    a_tile[of_a.at(i / kRowBytes, i % kRowBytes)] = a[i];
  for (int i = threadIdx.x; i < kColumns * kRowBytes; i += blockDim.x)
    b_tile[of_b.at(i / kRowBytes, i % kRowBytes)] = b[i];
  fence_async();
  __syncthreads();
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  uint32_t from[4], d[kColumns / 2];
  for (int i = 0; i < 4; ++i)
    memcpy(&from[i], a + (row + 8 * (i & 1)) * kRowBytes + lane % 4 * 4 + 16 * (i >> 1), 4);
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) d[i] = kNearTheEnd;
  products_fence();
  multiply_bits<kColumns, kRegisters>(d, from, of_a.matrix(a_tile), of_b.matrix(b_tile), adds);
  products_commit();
  products_wait();
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i)
    out[(row + 8 * (i / 2 % 2)) * kColumns + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

template <int kColumns, bool kRegisters>
void check(Report& report, Random& random, Layout of_a, Layout of_b, int adds) {
  std::vector<uint8_t> a(kRows * kRowBytes), b(kColumns * kRowBytes);
  for (uint8_t& bits : a) bits = static_cast<uint8_t>(random.next32());
  for (uint8_t& bits : b) bits = static_cast<uint8_t>(random.next32());
  std::vector<uint32_t> want(kRows * kColumns, adds ? kNearTheEnd : 0);
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      for (int k = 0; k < kRowBytes; ++k)
        for (unsigned both = a[i * kRowBytes + k] & b[j * kRowBytes + k]; both != 0; both &= both - 1)
          ++want[i * kColumns + j];
  constexpr int kShared = (kRows + kMostColumns) * kMostWidth;
  const auto kernel = product<kColumns, kRegisters>;
  CUDA_OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  const DeviceBuffer<uint8_t> device_a(a), device_b(b);
  const DeviceBuffer<uint32_t> out(want.size());
  kernel<<<1, 128, kShared>>>(device_a.get(), device_b.get(), of_a, of_b, adds, out.get());
  LAUNCHED_OK();
  report.equal(kRegisters ? "from_registers" : "from_shared_memory", out.download(), want);
}

// Each number of columns with other layouts than its neighbour.
template <int kColumns>
void check_columns(Report& report, Random& random) {
  constexpr Layout kLayouts[] = {{16, 0}, {32, 0}, {64, 1}, {128, 3}, {64, 0}, {128, 2}};
  constexpr int kNumber = kColumns / 8;
  check<kColumns, false>(report, random, kLayouts[kNumber % 6], kLayouts[kNumber / 6 % 6], kNumber % 3 != 0);
  check<kColumns, true>(report, random, kLayouts[0], kLayouts[(kNumber + 3) % 6], kNumber % 3 == 0);
}

int main() {
  Report report("wgmma_bits");
  Random random(7);
  check_columns<8>(report, random);
  check_columns<16>(report, random);
  check_columns<24>(report, random);
  check_columns<32>(report, random);
  check_columns<48>(report, random);
  check_columns<64>(report, random);
  check_columns<80>(report, random);
  check_columns<96>(report, random);
  check_columns<112>(report, random);
  check_columns<128>(report, random);
  check_columns<144>(report, random);
  check_columns<160>(report, random);
  check_columns<176>(report, random);
  check_columns<192>(report, random);
  check_columns<208>(report, random);
  check_columns<224>(report, random);
  check_columns<240>(report, random);
  check_columns<256>(report, random);
  for (const int width_a : {16, 32, 64, 128})
    for (const int width_b : {16, 32, 64, 128})
      check<16, false>(report, random, {width_a, width_a / 64}, {width_b, width_b / 128}, 1);
  return report.finish();
}
