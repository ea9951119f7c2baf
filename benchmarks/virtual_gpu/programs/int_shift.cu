// Shifts, whose amounts PTX clamps at the register width, and funnel shifts, which wrap or clamp.
#include "edges.cuh"

__global__ void shift_32(const uint32_t* values, int n, uint32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint32_t x = values[i / n], amount = values[i % n], high = ~x * 2654435761u;
  uint32_t left, right, arithmetic;
  // C++ leaves amounts of 32 and more undefined; PTX does not, hence assembly.
  asm("shl.b32 %0, %1, %2;" : "=r"(left) : "r"(x), "r"(amount));
  asm("shr.u32 %0, %1, %2;" : "=r"(right) : "r"(x), "r"(amount));
  asm("shr.s32 %0, %1, %2;" : "=r"(arithmetic) : "r"(x), "r"(amount));
  Column<uint32_t> to{out, n * n, i};
  to.put(left);
  to.put(right);
  to.put(arithmetic);
  to.put(__funnelshift_l(x, high, amount));
  to.put(__funnelshift_lc(x, high, amount));
  to.put(__funnelshift_r(x, high, amount));
  to.put(__funnelshift_rc(x, high, amount));
  uint16_t left_16, right_16;
  int16_t arithmetic_16;
  asm("shl.b16 %0, %1, %2;" : "=h"(left_16) : "h"(static_cast<uint16_t>(x)), "r"(amount));
  asm("shr.u16 %0, %1, %2;" : "=h"(right_16) : "h"(static_cast<uint16_t>(x)), "r"(amount));
  asm("shr.s16 %0, %1, %2;" : "=h"(arithmetic_16) : "h"(static_cast<int16_t>(x)), "r"(amount));
  to.put(left_16);
  to.put(right_16);
  to.put(static_cast<uint16_t>(arithmetic_16));
}

uint64_t left_shift(uint64_t x, uint32_t amount, int width) {
  if (amount >= static_cast<uint32_t>(width)) return 0;
  return width == 64 ? x << amount : (x << amount) & ((1ull << width) - 1);
}
uint64_t right_shift(uint64_t x, uint32_t amount, int width) {
  return amount >= static_cast<uint32_t>(width) ? 0 : x >> amount;
}
uint64_t arithmetic_shift(uint64_t x, uint32_t amount, int width) {
  const bool negative = x >> (width - 1) & 1;
  const uint32_t clamped = amount >= static_cast<uint32_t>(width) ? width - 1 : amount;
  const uint64_t all = width == 64 ? ~0ull : (1ull << width) - 1;
  const uint64_t filled = negative && clamped > 0 ? (all << (width - clamped)) & all : 0;
  return x >> clamped | filled;
}

void reference_32(const std::vector<uint32_t>& values, std::vector<uint32_t>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n * n; ++i) {
    const uint32_t x = values[i / n], amount = values[i % n], high = ~x * 2654435761u;
    const uint64_t both = static_cast<uint64_t>(high) << 32 | x;
    const uint32_t wrapped = amount & 31, clamped = amount < 32 ? amount : 32;
    Column<uint32_t> to{out.data(), n * n, i};
    to.put(static_cast<uint32_t>(left_shift(x, amount, 32)));
    to.put(static_cast<uint32_t>(right_shift(x, amount, 32)));
    to.put(static_cast<uint32_t>(arithmetic_shift(x, amount, 32)));
    to.put(static_cast<uint32_t>(both << wrapped >> 32));
    to.put(static_cast<uint32_t>(both << clamped >> 32));
    to.put(static_cast<uint32_t>(both >> wrapped));
    to.put(static_cast<uint32_t>(both >> clamped));
    to.put(static_cast<uint32_t>(left_shift(x & 0xffff, amount, 16)));
    to.put(static_cast<uint32_t>(right_shift(x & 0xffff, amount, 16)));
    to.put(static_cast<uint32_t>(arithmetic_shift(x & 0xffff, amount, 16)));
  }
}

__global__ void shift_64(const uint64_t* values, int n, const uint32_t* amounts, int m, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * m) return;
  const uint64_t x = values[i / m];
  const uint32_t amount = amounts[i % m];
  uint64_t left, right, arithmetic;
  asm("shl.b64 %0, %1, %2;" : "=l"(left) : "l"(x), "r"(amount));
  asm("shr.u64 %0, %1, %2;" : "=l"(right) : "l"(x), "r"(amount));
  asm("shr.s64 %0, %1, %2;" : "=l"(arithmetic) : "l"(x), "r"(amount));
  Column<uint64_t> to{out, n * m, i};
  to.put(left);
  to.put(right);
  to.put(arithmetic);
}

int main() {
  Report report("int_shift");
  const std::vector<uint32_t> values = edge_values_u32(10);
  const int n = static_cast<int>(values.size());
  DeviceBuffer<uint32_t> input(values);
  {
    DeviceBuffer<uint32_t> output(10 * n * n);
    shift_32<<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    std::vector<uint32_t> want(output.count());
    reference_32(values, want);
    report.equal("shifts_32", output.download(), want);
  }
  {
    const std::vector<uint64_t> wide = edge_values_u64(12);
    const int count = static_cast<int>(wide.size()) * n;
    DeviceBuffer<uint64_t> wide_input(wide), output(3 * count);
    shift_64<<<blocks_for(count, 128), 128>>>(wide_input.get(), static_cast<int>(wide.size()), input.get(), n,
                                              output.get());
    LAUNCHED_OK();
    std::vector<uint64_t> want(output.count());
    for (int i = 0; i < count; ++i) {
      Column<uint64_t> to{want.data(), count, i};
      to.put(left_shift(wide[i / n], values[i % n], 64));
      to.put(right_shift(wide[i / n], values[i % n], 64));
      to.put(arithmetic_shift(wide[i / n], values[i % n], 64));
    }
    report.equal("shifts_64", output.download(), want);
  }
  return report.finish();
}
