// A 32×32 matrix of bits, one row in each lane, transposed in five rounds of shuffles.
#include "../programs/check.cuh"

__global__ void transpose(uint32_t* rows) {
  const unsigned lane = threadIdx.x;
  uint32_t row = rows[blockIdx.x * 32 + lane];
  uint32_t mask = 0x0000ffffu;
  for (unsigned width = 16; width > 0; width /= 2, mask ^= mask << width) {
    const uint32_t other = __shfl_xor_sync(~0u, row, width);
    row = (lane & width) == 0 ? (row & mask) | (other & mask) << width
                              : (row & ~mask) | (other & ~mask) >> width;
  }
  rows[blockIdx.x * 32 + lane] = row;
}

int main() {
  Report report("warp_bit_transpose");
  constexpr int kMatrices = 6;
  Random random(5);
  std::vector<uint32_t> rows(32 * kMatrices), want(32 * kMatrices);
  for (uint32_t& row : rows) row = random.next32();
  for (int m = 0; m < kMatrices; ++m)
    for (int i = 0; i < 32; ++i)
      for (int j = 0; j < 32; ++j) want[m * 32 + i] |= (rows[m * 32 + j] >> i & 1) << j;
  DeviceBuffer<uint32_t> device(rows);
  transpose<<<kMatrices, 32>>>(device.get());
  LAUNCHED_OK();
  report.equal("transposed", device.download(), want);
  return report.finish();
}
