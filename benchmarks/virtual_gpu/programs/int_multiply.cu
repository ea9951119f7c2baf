// Integer products: low, high and wide halves in 16, 32 and 64 bits, multiply-add, 24-bit forms.
#include "edges.cuh"

__global__ void multiply_32(const uint32_t* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint32_t x = values[i / n], y = values[i % n];
  const int32_t sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  Column<uint64_t> to{out, n * n, i};
  to.put(x * y);
  to.put(__umulhi(x, y));
  to.put(static_cast<uint32_t>(__mulhi(sx, sy)));
  to.put(static_cast<uint64_t>(x) * y);
  to.put(static_cast<uint64_t>(static_cast<int64_t>(sx) * sy));
  to.put(static_cast<uint64_t>(x) * y + (static_cast<uint64_t>(y) << 32 | x));
  to.put(static_cast<uint64_t>(static_cast<int64_t>(sx) * sy - sx));
  to.put(x * y + (x ^ y));
  to.put(static_cast<uint32_t>(__mul24(sx, sy)));
  to.put(__umul24(x, y));
  int32_t low_24;
  asm("mul24.lo.s32 %0, %1, %2;" : "=r"(low_24) : "r"(sx), "r"(sy));
  to.put(static_cast<uint32_t>(low_24));
  uint32_t high_24;
  asm("mul24.hi.u32 %0, %1, %2;" : "=r"(high_24) : "r"(x), "r"(y));
  to.put(high_24);
  uint32_t high_sum;
  asm("mad.hi.u32 %0, %1, %2, %3;" : "=r"(high_sum) : "r"(x), "r"(y), "r"(x));
  to.put(high_sum);
  int32_t signed_high_sum;
  asm("mad.hi.s32 %0, %1, %2, %3;" : "=r"(signed_high_sum) : "r"(sx), "r"(sy), "r"(sy));
  to.put(static_cast<uint32_t>(signed_high_sum));
  to.put(static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(x)) * static_cast<int16_t>(y)));
  to.put(static_cast<uint32_t>(static_cast<uint16_t>(x)) * static_cast<uint16_t>(y));
  to.put(static_cast<uint16_t>(static_cast<uint16_t>(x) * static_cast<uint16_t>(y)));
}

int64_t low_24_signed(uint32_t x) {
  return static_cast<int32_t>(x << 8) >> 8;
}

void reference_32(const std::vector<uint32_t>& values, std::vector<uint64_t>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n * n; ++i) {
    const uint64_t x = values[i / n], y = values[i % n];
    const int64_t sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
    const uint32_t signed_high = static_cast<uint32_t>(static_cast<uint64_t>(sx * sy) >> 32);
    const uint32_t high = static_cast<uint32_t>(x * y >> 32);
    Column<uint64_t> to{out.data(), n * n, i};
    to.put(x * y & 0xffffffffu);
    to.put(high);
    to.put(signed_high);
    to.put(x * y);
    to.put(static_cast<uint64_t>(sx * sy));
    to.put(x * y + (y << 32 | x));
    to.put(static_cast<uint64_t>(sx * sy) - static_cast<uint64_t>(sx));
    to.put((x * y + (x ^ y)) & 0xffffffffu);
    to.put(static_cast<uint64_t>(low_24_signed(x) * low_24_signed(y)) & 0xffffffffu);
    to.put((x & 0xffffff) * (y & 0xffffff) & 0xffffffffu);
    to.put(static_cast<uint64_t>(low_24_signed(x) * low_24_signed(y)) & 0xffffffffu);
    to.put((x & 0xffffff) * (y & 0xffffff) >> 16);  // the upper 32 of 48 bits
    to.put((high + x) & 0xffffffffu);
    to.put((signed_high + y) & 0xffffffffu);
    to.put(static_cast<uint32_t>(static_cast<int64_t>(static_cast<int16_t>(x)) * static_cast<int16_t>(y)));
    to.put((x & 0xffff) * (y & 0xffff));
    to.put(x * y & 0xffff);
  }
}

__global__ void multiply_64(const uint64_t* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint64_t x = values[i / n], y = values[i % n];
  Column<uint64_t> to{out, n * n, i};
  to.put(x * y);
  to.put(__umul64hi(x, y));
  to.put(static_cast<uint64_t>(__mul64hi(static_cast<int64_t>(x), static_cast<int64_t>(y))));
  to.put(x * y + x);
  uint64_t high_sum;
  asm("mad.hi.u64 %0, %1, %2, %3;" : "=l"(high_sum) : "l"(x), "l"(y), "l"(y));
  to.put(high_sum);
}

void reference_64(const std::vector<uint64_t>& values, std::vector<uint64_t>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n * n; ++i) {
    const uint64_t x = values[i / n], y = values[i % n];
    const uint64_t high = static_cast<uint64_t>(static_cast<unsigned __int128>(x) * y >> 64);
    const __int128 product = static_cast<__int128>(static_cast<int64_t>(x)) * static_cast<int64_t>(y);
    Column<uint64_t> to{out.data(), n * n, i};
    to.put(x * y);
    to.put(high);
    to.put(static_cast<uint64_t>(product >> 64));
    to.put(x * y + x);
    to.put(high + y);
  }
}

int main() {
  Report report("int_multiply");
  {
    const std::vector<uint32_t> values = edge_values_u32(14);
    const int n = static_cast<int>(values.size());
    DeviceBuffer<uint32_t> input(values);
    DeviceBuffer<uint64_t> output(17 * n * n);
    multiply_32<<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    std::vector<uint64_t> want(output.count());
    reference_32(values, want);
    report.equal("products_32", output.download(), want);
  }
  {
    const std::vector<uint64_t> values = edge_values_u64(12);
    const int n = static_cast<int>(values.size());
    DeviceBuffer<uint64_t> input(values), output(5 * n * n);
    multiply_64<<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    std::vector<uint64_t> want(output.count());
    reference_64(values, want);
    report.equal("products_64", output.download(), want);
  }
  return report.finish();
}
