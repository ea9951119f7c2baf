// Float and double to integers of 32 and 64 bits in the four rounding modes, with saturation and PTX's answer
// for NaN; rounding to integral values; saturating conversions between integer widths.
#include "edges.cuh"
#include "rounding.cuh"

#define CONVERSIONS_TO_INTEGERS(Mode, rm)                                      \
  struct Mode {                                                                \
    static __device__ int32_t s32(float x) { return __float2int_##rm(x); }     \
    static __device__ uint32_t u32(float x) { return __float2uint_##rm(x); }   \
    static __device__ int64_t s64(float x) { return __float2ll_##rm(x); }      \
    static __device__ uint64_t u64(float x) { return __float2ull_##rm(x); }    \
    static __device__ int32_t s32(double x) { return __double2int_##rm(x); }   \
    static __device__ uint32_t u32(double x) { return __double2uint_##rm(x); } \
    static __device__ int64_t s64(double x) { return __double2ll_##rm(x); }    \
    static __device__ uint64_t u64(double x) { return __double2ull_##rm(x); }  \
  };
CONVERSIONS_TO_INTEGERS(Nearest, rn)
CONVERSIONS_TO_INTEGERS(TowardZero, rz)
CONVERSIONS_TO_INTEGERS(Upward, ru)
CONVERSIONS_TO_INTEGERS(Downward, rd)

template <typename Mode, typename T>
__device__ void put_all(Column<uint64_t>& to, T x) {
  to.put(static_cast<uint32_t>(Mode::s32(x)));
  to.put(Mode::u32(x));
  to.put(static_cast<uint64_t>(Mode::s64(x)));
  to.put(Mode::u64(x));
}

template <typename T>
__global__ void convert(const T* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Column<uint64_t> to{out, n, i};
  put_all<Nearest>(to, values[i]);
  put_all<TowardZero>(to, values[i]);
  put_all<Upward>(to, values[i]);
  put_all<Downward>(to, values[i]);
}

// NaN gives 0 between 32-bit types, and the top bit alone when either side has 64.
uint64_t saturate(double integral, int bits, bool is_signed, bool wide_source) {
  const uint64_t top = 1ull << (bits - 1), all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (std::isnan(integral)) return wide_source || bits == 64 ? top : 0;
  if (is_signed) {
    if (integral >= std::ldexp(1.0, bits - 1)) return top - 1;
    if (integral < -std::ldexp(1.0, bits - 1)) return top;
    return static_cast<uint64_t>(static_cast<int64_t>(integral)) & all;
  }
  if (integral >= std::ldexp(1.0, bits)) return all;
  if (integral <= 0) return 0;
  return static_cast<uint64_t>(integral);
}

template <typename T>
void run_conversions(Report& report, const char* what, std::vector<T> values) {
  for (double near_limit :
       {2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0,
        9223372036854775808.0, -9223372036854775808.0, 18446744073709551616.0, 0.5, 1.5, 2.5, -0.5, -1.5,
        1e10, -1e10, 123456.75, -123456.25}) {
    values.push_back(static_cast<T>(near_limit));
  }
  const int n = static_cast<int>(values.size());
  DeviceBuffer<T> input(values);
  DeviceBuffer<uint64_t> output(16 * n);
  convert<T><<<blocks_for(n, 64), 64>>>(input.get(), n, output.get());
  LAUNCHED_OK();
  std::vector<uint64_t> want(output.count());
  for (int i = 0; i < n; ++i) {
    Column<uint64_t> to{want.data(), n, i};
    for (Rounding rounding : kRoundings) {
      const double integral = to_integral(values[i], rounding);
      to.put(saturate(integral, 32, true, sizeof(T) == 8));
      to.put(saturate(integral, 32, false, sizeof(T) == 8));
      to.put(saturate(integral, 64, true, sizeof(T) == 8));
      to.put(saturate(integral, 64, false, sizeof(T) == 8));
    }
  }
  report.equal(what, output.download(), want);
}

template <typename T>
__global__ void integral(const T* values, int n, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Column<T> to{out, n, i};
  to.put(rint(values[i]));
  to.put(trunc(values[i]));
  to.put(ceil(values[i]));
  to.put(floor(values[i]));
}

template <typename T>
void run_integral(Report& report, const char* what, std::vector<T> values) {
  for (double value : {0.25, 0.5, 0.75, 1.5, 2.5, 3.5, -0.25, -0.5, -1.5, -2.5, 1e6 + 0.5, -1e6 - 0.5}) {
    values.push_back(static_cast<T>(value));
  }
  const int n = static_cast<int>(values.size());
  DeviceBuffer<T> input(values), output(4 * n);
  integral<T><<<blocks_for(n, 64), 64>>>(input.get(), n, output.get());
  LAUNCHED_OK();
  std::vector<T> want(output.count());
  for (int i = 0; i < n; ++i) {
    Column<T> to{want.data(), n, i};
    for (Rounding rounding : kRoundings) to.put(static_cast<T>(to_integral(values[i], rounding)));
  }
  report.equal(what, output.download(), want);
}

__global__ void narrow(const uint32_t* values, int n, int32_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int32_t x = static_cast<int32_t>(values[i]);
  int32_t s8, u8;
  int16_t s16;
  uint16_t u16;
  asm("{ .reg .s8 t; cvt.sat.s8.s32 t, %1; cvt.s32.s8 %0, t; }" : "=r"(s8) : "r"(x));
  asm("{ .reg .u8 t; cvt.sat.u8.s32 t, %1; cvt.u32.u8 %0, t; }" : "=r"(u8) : "r"(x));
  asm("cvt.sat.s16.s32 %0, %1;" : "=h"(s16) : "r"(x));
  asm("cvt.sat.u16.s32 %0, %1;" : "=h"(u16) : "r"(x));
  Column<int32_t> to{out, n, i};
  to.put(s8);
  to.put(u8);
  to.put(s16);
  to.put(u16);
  to.put(static_cast<int8_t>(x));
  to.put(static_cast<uint8_t>(x));
  to.put(static_cast<int16_t>(x));
}

int32_t clamp(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : x > high ? high : x;
}

void run_narrow(Report& report) {
  const std::vector<uint32_t> values = edge_values_u32(38);
  const int n = static_cast<int>(values.size());
  DeviceBuffer<uint32_t> input(values);
  DeviceBuffer<int32_t> output(7 * n);
  narrow<<<blocks_for(n, 64), 64>>>(input.get(), n, output.get());
  LAUNCHED_OK();
  std::vector<int32_t> want(output.count());
  for (int i = 0; i < n; ++i) {
    const int32_t x = static_cast<int32_t>(values[i]), byte = x & 0xff, word = x & 0xffff;
    Column<int32_t> to{want.data(), n, i};
    to.put(clamp(x, -128, 127));
    to.put(clamp(x, 0, 255));
    to.put(clamp(x, -32768, 32767));
    to.put(clamp(x, 0, 65535));
    to.put(byte >= 128 ? byte - 256 : byte);
    to.put(byte);
    to.put(word >= 32768 ? word - 65536 : word);
  }
  report.equal("narrow", output.download(), want);
}

int main() {
  Report report("float_to_int");
  run_conversions<float>(report, "from_float", edge_values_f32(80));
  run_conversions<double>(report, "from_double", edge_values_f64(80));
  run_integral<float>(report, "integral_float", edge_values_f32(60));
  run_integral<double>(report, "integral_double", edge_values_f64(60));
  run_narrow(report);
  return report.finish();
}
