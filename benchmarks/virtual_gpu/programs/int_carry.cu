// Sums wider than a register (carry chains, __int128), saturating sums, sums of differences, min, max, abs.
#include "edges.cuh"

__global__ void wide_sums(const uint64_t* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint64_t x = values[i / n], y = values[i % n], p = x ^ (y << 7), q = y + 0x123456789abcdefull;
  Column<uint64_t> to{out, n * n, i};
  uint64_t low, high;
  // (p:x) + (q:y) and (p:x) - (q:y) in 128 bits.
  asm("add.cc.u64 %0, %2, %4;\n\taddc.u64 %1, %3, %5;"
      : "=&l"(low), "=l"(high)
      : "l"(x), "l"(p), "l"(y), "l"(q));
  to.put(low);
  to.put(high);
  asm("sub.cc.u64 %0, %2, %4;\n\tsubc.u64 %1, %3, %5;"
      : "=&l"(low), "=l"(high)
      : "l"(x), "l"(p), "l"(y), "l"(q));
  to.put(low);
  to.put(high);
  // The same sum in four 32-bit steps.
  uint32_t word[4];
  asm("add.cc.u32 %0, %4, %8;\n\taddc.cc.u32 %1, %5, %9;\n\taddc.cc.u32 %2, %6, %10;\n\taddc.u32 %3, %7, %11;"
      : "=&r"(word[0]), "=&r"(word[1]), "=&r"(word[2]), "=r"(word[3])
      : "r"(static_cast<uint32_t>(x)), "r"(static_cast<uint32_t>(x >> 32)), "r"(static_cast<uint32_t>(p)),
        "r"(static_cast<uint32_t>(p >> 32)), "r"(static_cast<uint32_t>(y)),
        "r"(static_cast<uint32_t>(y >> 32)), "r"(static_cast<uint32_t>(q)),
        "r"(static_cast<uint32_t>(q >> 32)));
  to.put(static_cast<uint64_t>(word[1]) << 32 | word[0]);
  to.put(static_cast<uint64_t>(word[3]) << 32 | word[2]);
  // A 32 x 32 product added to a 64-bit number, carry passed from the low to the high half.
  asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, %5;"
      : "=&r"(word[0]), "=r"(word[1])
      : "r"(static_cast<uint32_t>(x)), "r"(static_cast<uint32_t>(y)), "r"(static_cast<uint32_t>(p)),
        "r"(static_cast<uint32_t>(p >> 32)));
  to.put(static_cast<uint64_t>(word[1]) << 32 | word[0]);
  // What the compiler makes of 128-bit C++.
  const unsigned __int128 wide = static_cast<unsigned __int128>(x) * q + y;
  to.put(static_cast<uint64_t>(wide));
  to.put(static_cast<uint64_t>(wide >> 64));
  const __int128 negated = static_cast<__int128>(static_cast<int64_t>(x)) - static_cast<int64_t>(y);
  to.put(static_cast<uint64_t>(negated));
  to.put(static_cast<uint64_t>(negated >> 64));
}

void reference_wide(const std::vector<uint64_t>& values, std::vector<uint64_t>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n * n; ++i) {
    const uint64_t x = values[i / n], y = values[i % n], p = x ^ (y << 7), q = y + 0x123456789abcdefull;
    Column<uint64_t> to{out.data(), n * n, i};
    const uint64_t low = x + y, high = p + q + (low < x);
    to.put(low);
    to.put(high);
    to.put(x - y);
    to.put(p - q - (x < y));
    to.put(low);
    to.put(high);
    to.put((x & 0xffffffffu) * (y & 0xffffffffu) + p);
    const unsigned __int128 wide = static_cast<unsigned __int128>(x) * q + y;
    to.put(static_cast<uint64_t>(wide));
    to.put(static_cast<uint64_t>(wide >> 64));
    const uint64_t borrow = x < y ? 1 : 0;
    to.put(x - y);
    to.put((x >> 63 ? ~0ull : 0) - (y >> 63 ? ~0ull : 0) - borrow);
  }
}

__global__ void clamped_and_ordered(const uint32_t* values, int n, int64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const uint32_t x = values[i / n], y = values[i % n];
  const int32_t sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y);
  const int64_t lx = static_cast<int64_t>(sx) * 65537 * 3, ly = static_cast<int64_t>(sy) * 65537 * 3;
  int32_t sum;
  Column<int64_t> to{out, n * n, i};
  asm("add.sat.s32 %0, %1, %2;" : "=r"(sum) : "r"(sx), "r"(sy));
  to.put(sum);
  asm("sub.sat.s32 %0, %1, %2;" : "=r"(sum) : "r"(sx), "r"(sy));
  to.put(sum);
  to.put(__sad(sx, sy, x));
  to.put(__usad(x, y, x));
  to.put(min(sx, sy));
  to.put(max(sx, sy));
  to.put(min(x, y));
  to.put(max(x, y));
  to.put(min(lx, ly));
  to.put(max(lx, ly));
  to.put(static_cast<int64_t>(min(static_cast<uint64_t>(lx), static_cast<uint64_t>(ly))));
  to.put(static_cast<int64_t>(max(static_cast<uint64_t>(lx), static_cast<uint64_t>(ly))));
  to.put(sx == INT32_MIN ? 0 : abs(sx));
  to.put(llabs(lx));
  to.put(__hadd(sx, sy));
  to.put(__rhadd(sx, sy));
  to.put(__uhadd(x, y));
  int16_t low;
  asm("min.s16 %0, %1, %2;" : "=h"(low) : "h"(static_cast<int16_t>(x)), "h"(static_cast<int16_t>(y)));
  to.put(low);
  uint16_t high;
  asm("max.u16 %0, %1, %2;" : "=h"(high) : "h"(static_cast<uint16_t>(x)), "h"(static_cast<uint16_t>(y)));
  to.put(high);
}

int64_t clamp_32(int64_t value) {
  return value > INT32_MAX ? int64_t{INT32_MAX} : value < INT32_MIN ? int64_t{INT32_MIN} : value;
}

template <typename T>
T smaller(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
T larger(T a, T b) {
  return a < b ? b : a;
}

void reference_clamped(const std::vector<uint32_t>& values, std::vector<int64_t>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n * n; ++i) {
    const uint32_t x = values[i / n], y = values[i % n];
    const int64_t sx = static_cast<int32_t>(x), sy = static_cast<int32_t>(y), lx = sx * 65537 * 3,
                  ly = sy * 65537 * 3;
    const int64_t ux = x, uy = y, distance = sx < sy ? sy - sx : sx - sy;
    Column<int64_t> to{out.data(), n * n, i};
    to.put(clamp_32(sx + sy));
    to.put(clamp_32(sx - sy));
    to.put(static_cast<uint32_t>(distance + ux));
    to.put(static_cast<uint32_t>((ux < uy ? uy - ux : ux - uy) + ux));
    to.put(smaller(sx, sy));
    to.put(larger(sx, sy));
    to.put(smaller(ux, uy));
    to.put(larger(ux, uy));
    to.put(smaller(lx, ly));
    to.put(larger(lx, ly));
    to.put(static_cast<int64_t>(smaller(static_cast<uint64_t>(lx), static_cast<uint64_t>(ly))));
    to.put(static_cast<int64_t>(larger(static_cast<uint64_t>(lx), static_cast<uint64_t>(ly))));
    to.put(sx == INT32_MIN ? 0 : sx < 0 ? -sx : sx);
    to.put(lx < 0 ? -lx : lx);
    to.put((sx + sy) >> 1);
    to.put((sx + sy + 1) >> 1);
    to.put((ux + uy) >> 1);
    to.put(smaller(static_cast<int16_t>(x), static_cast<int16_t>(y)));
    to.put(larger(static_cast<uint16_t>(x), static_cast<uint16_t>(y)));
  }
}

int main() {
  Report report("int_carry");
  {
    const std::vector<uint64_t> values = edge_values_u64(16);
    const int n = static_cast<int>(values.size());
    DeviceBuffer<uint64_t> input(values), output(11 * n * n);
    wide_sums<<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    std::vector<uint64_t> want(output.count());
    reference_wide(values, want);
    report.equal("wide_sums", output.download(), want);
  }
  {
    const std::vector<uint32_t> values = edge_values_u32(14);
    const int n = static_cast<int>(values.size());
    DeviceBuffer<uint32_t> input(values);
    DeviceBuffer<int64_t> output(19 * n * n);
    clamped_and_ordered<<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
    LAUNCHED_OK();
    std::vector<int64_t> want(output.count());
    reference_clamped(values, want);
    report.equal("clamped_and_ordered", output.download(), want);
  }
  return report.finish();
}
