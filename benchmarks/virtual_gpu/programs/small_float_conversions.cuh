// The conversion test shared by half and bfloat16. Their intrinsics differ in name only; a program defines a
// struct per rounding mode with the macro below and runs the rest of this header on it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "edges.cuh"
#include "rounding.cuh"

#define SMALL_FLOAT_CONVERSIONS(Mode, T, name, bits_of, of_bits, rm)                           \
  struct Mode {                                                                                \
    static __device__ uint16_t from(float x) { return bits_of(__float2##name##_##rm(x)); }     \
    static __device__ uint16_t from(int16_t x) { return bits_of(__short2##name##_##rm(x)); }   \
    static __device__ uint16_t from(uint16_t x) { return bits_of(__ushort2##name##_##rm(x)); } \
    static __device__ uint16_t from(int32_t x) { return bits_of(__int2##name##_##rm(x)); }     \
    static __device__ uint16_t from(uint32_t x) { return bits_of(__uint2##name##_##rm(x)); }   \
    static __device__ uint16_t from(int64_t x) { return bits_of(__ll2##name##_##rm(x)); }      \
    static __device__ uint16_t from(uint64_t x) { return bits_of(__ull2##name##_##rm(x)); }    \
    static __device__ int16_t s16(uint16_t x) { return __##name##2short_##rm(of_bits(x)); }    \
    static __device__ uint16_t u16(uint16_t x) { return __##name##2ushort_##rm(of_bits(x)); }  \
    static __device__ int32_t s32(uint16_t x) { return __##name##2int_##rm(of_bits(x)); }      \
    static __device__ uint32_t u32(uint16_t x) { return __##name##2uint_##rm(of_bits(x)); }    \
    static __device__ int64_t s64(uint16_t x) { return __##name##2ll_##rm(of_bits(x)); }       \
    static __device__ uint64_t u64(uint16_t x) { return __##name##2ull_##rm(of_bits(x)); }     \
  };

template <typename Mode>
__global__ void convert_from(const uint64_t* integers, const float* floats, int n, uint16_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t x = integers[i];
  Column<uint16_t> to{out, n, i};
  to.put(Mode::from(floats[i]));
  to.put(Mode::from(static_cast<int16_t>(x)));
  to.put(Mode::from(static_cast<uint16_t>(x)));
  to.put(Mode::from(static_cast<int32_t>(x)));
  to.put(Mode::from(static_cast<uint32_t>(x)));
  to.put(Mode::from(static_cast<int64_t>(x)));
  to.put(Mode::from(x));
}

template <typename Mode>
__global__ void convert_to(const uint16_t* values, int n, uint64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Column<uint64_t> to{out, n, i};
  to.put(static_cast<uint16_t>(Mode::s16(values[i])));
  to.put(Mode::u16(values[i]));
  to.put(static_cast<uint32_t>(Mode::s32(values[i])));
  to.put(Mode::u32(values[i]));
  to.put(static_cast<uint64_t>(Mode::s64(values[i])));
  to.put(Mode::u64(values[i]));
}

// A 64-bit integer in double, rounded to odd so that rounding it again is exact.
inline double integer_to_odd(uint64_t magnitude, bool negative) {
  if (magnitude >> 53 != 0) magnitude = (magnitude & ~0x7ffull) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
  const double value = static_cast<double>(magnitude);
  return negative ? -value : value;
}
inline double signed_to_odd(int64_t x) {
  return integer_to_odd(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x), x < 0);
}

inline uint64_t saturated_integer(double integral, int bits, bool is_signed) {
  if (std::isnan(integral)) return bits == 64 ? 0x8000000000000000ull : 0;
  const double high = std::ldexp(1.0, is_signed ? bits - 1 : bits), low = is_signed ? -high : 0.0;
  const uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (integral >= high) return is_signed ? all >> 1 : all;
  if (integral <= low) return is_signed ? (all >> 1) + 1 : 0;
  return (is_signed ? static_cast<uint64_t>(static_cast<int64_t>(integral))
                    : static_cast<uint64_t>(integral)) &
         all;
}

template <typename Mode>
void run_conversions(Report& report, const SmallFloat& format, Rounding rounding, const char* from_name,
                     const char* to_name) {
  std::vector<uint64_t> integers = edge_values_u64(40);
  for (uint64_t tie : {2049ull, 2051ull, 4098ull, 257ull, 259ull, 65519ull, 65520ull, 65535ull,
                       0xffffffffffff8000ull, 0xffff800000000001ull, 0x8080000000000001ull}) {
    integers.push_back(tie);
  }
  std::vector<float> floats = edge_values_f32(0);
  for (float near : {65504.0f, 65519.996f, 65520.0f, 0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.002p0f, 0x1.006p0f,
                     0x1.01p0f, 0x1.03p0f, 0x1.fep127f, 0x1.ffp127f, 0x1p-134f, 0x1.ffcp-15f, 0x1.fffp-15f}) {
    floats.push_back(near);
    floats.push_back(-near);
  }
  Random random(11);
  while (floats.size() < integers.size()) floats.push_back(random.uniform(-300.0f, 300.0f));
  floats.resize(integers.size());

  const int n = static_cast<int>(integers.size());
  DeviceBuffer<uint64_t> integer_input(integers);
  DeviceBuffer<float> float_input(floats);
  DeviceBuffer<uint16_t> small(7 * n);
  convert_from<Mode><<<blocks_for(n, 64), 64>>>(integer_input.get(), float_input.get(), n, small.get());
  LAUNCHED_OK();
  std::vector<uint16_t> want(small.count());
  for (int i = 0; i < n; ++i) {
    const uint64_t x = integers[i];
    Column<uint16_t> to{want.data(), n, i};
    to.put(format.round(floats[i], rounding));
    to.put(format.round(static_cast<int16_t>(x), rounding));
    to.put(format.round(static_cast<uint16_t>(x), rounding));
    to.put(format.round(static_cast<int32_t>(x), rounding));
    to.put(format.round(static_cast<uint32_t>(x), rounding));
    to.put(format.round(signed_to_odd(static_cast<int64_t>(x)), rounding));
    to.put(format.round(integer_to_odd(x, false), rounding));
  }
  std::vector<uint16_t> got = small.download();
  for (uint16_t& bits : got) bits = format.canonical(bits);
  report.equal(from_name, got, want);

  const std::vector<uint16_t> values = small_float_inputs(format, 80, 5);
  const int m = static_cast<int>(values.size());
  DeviceBuffer<uint16_t> value_input(values);
  DeviceBuffer<uint64_t> whole(6 * m);
  convert_to<Mode><<<blocks_for(m, 64), 64>>>(value_input.get(), m, whole.get());
  LAUNCHED_OK();
  std::vector<uint64_t> want_whole(whole.count());
  for (int i = 0; i < m; ++i) {
    const double integral = to_integral(format.value(values[i]), rounding);
    Column<uint64_t> to{want_whole.data(), m, i};
    for (int bits : {16, 32, 64}) {
      to.put(saturated_integer(integral, bits, true));
      to.put(saturated_integer(integral, bits, false));
    }
  }
  report.equal(to_name, whole.download(), want_whole);
}
