// The arithmetic test shared by half and bfloat16, whose intrinsics are overloads of the same names.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "rounding.cuh"

__device__ inline __half from_bits(uint16_t bits, __half) {
  return __ushort_as_half(bits);
}
__device__ inline __nv_bfloat16 from_bits(uint16_t bits, __nv_bfloat16) {
  return __ushort_as_bfloat16(bits);
}
__device__ inline uint16_t to_bits(__half x) {
  return __half_as_ushort(x);
}
__device__ inline uint16_t to_bits(__nv_bfloat16 x) {
  return __bfloat16_as_ushort(x);
}
__device__ inline __half2 pair(__half a, __half b) {
  return __halves2half2(a, b);
}
__device__ inline __nv_bfloat162 pair(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __halves2bfloat162(a, b);
}
__device__ inline __half first(__half2 x) {
  return __low2half(x);
}
__device__ inline __half second(__half2 x) {
  return __high2half(x);
}
__device__ inline __nv_bfloat16 first(__nv_bfloat162 x) {
  return __low2bfloat16(x);
}
__device__ inline __nv_bfloat16 second(__nv_bfloat162 x) {
  return __high2bfloat16(x);
}

// Saturating and relu forms do not specify the sign of a zero they produce.
__device__ inline uint16_t unsigned_zero(uint16_t bits) {
  return bits == 0x8000 ? 0 : bits;
}

constexpr int kScalarRows = 14, kPackedRows = 18;

template <typename T>
__global__ void scalar_arithmetic(const uint16_t* values, int n, uint16_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const T a = from_bits(values[i / n], T()), b = from_bits(values[i % n], T());
  const T c = from_bits(values[(i * 7 + 3) % n], T());
  Column<uint16_t> to{out, n * n, i};
  to.put(to_bits(__hadd(a, b)));
  to.put(to_bits(__hsub(a, b)));
  to.put(to_bits(__hmul(a, b)));
  to.put(to_bits(__hfma(a, b, c)));
  to.put(to_bits(__hneg(a)));
  to.put(to_bits(__habs(a)));
  to.put(to_bits(__hmin(a, b)));
  to.put(to_bits(__hmax(a, b)));
  to.put(to_bits(__hmin_nan(a, b)));
  to.put(to_bits(__hmax_nan(a, b)));
  to.put(unsigned_zero(to_bits(__hadd_sat(a, b))));
  to.put(unsigned_zero(to_bits(__hfma_sat(a, b, c))));
  to.put(unsigned_zero(to_bits(__hfma_relu(a, b, c))));
  to.put(static_cast<uint16_t>(__heq(a, b) << 0 | __hne(a, b) << 1 | __hlt(a, b) << 2 | __hle(a, b) << 3 |
                               __hgt(a, b) << 4 | __hge(a, b) << 5 | __hequ(a, b) << 6 | __hneu(a, b) << 7 |
                               __hltu(a, b) << 8 | __hleu(a, b) << 9 | __hgtu(a, b) << 10 |
                               __hgeu(a, b) << 11 | __hisnan(a) << 12));
}

template <typename Pair>
__device__ void put_pair(Column<uint16_t>& to, Pair x) {
  to.put(to_bits(first(x)));
  to.put(to_bits(second(x)));
}

template <typename T>
__global__ void packed_arithmetic(const uint16_t* values, int n, uint16_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const T a = from_bits(values[i / n], T()), b = from_bits(values[i % n], T());
  const T c = from_bits(values[(i * 7 + 3) % n], T());
  const auto x = pair(a, b), y = pair(b, c), z = pair(c, a);
  Column<uint16_t> to{out, n * n, i};
  put_pair(to, __hadd2(x, y));
  put_pair(to, __hsub2(x, y));
  put_pair(to, __hmul2(x, y));
  put_pair(to, __hfma2(x, y, z));
  put_pair(to, __hneg2(x));
  put_pair(to, __habs2(x));
  put_pair(to, __hmin2(x, y));
  put_pair(to, __hmax2(x, y));
  to.put(static_cast<uint16_t>(__hbeq2(x, y) << 0 | __hblt2(x, y) << 1 | __hbge2(x, y) << 2 |
                               __hbneu2(x, y) << 3));
  const unsigned mask = __hgt2_mask(x, y);
  to.put(static_cast<uint16_t>((mask & 0xffff) ^ (mask >> 16) * 3));
}

struct Reference {
  const SmallFloat& format;

  uint16_t fma(uint16_t a, uint16_t b, uint16_t c) const {
    return format.round(fma_to_odd(format.value(a), format.value(b), format.value(c)));
  }
  uint16_t add(uint16_t a, uint16_t b) const { return fma(a, format.round(1.0), b); }
  uint16_t subtract(uint16_t a, uint16_t b) const { return fma(b, format.round(-1.0), a); }
  uint16_t multiply(uint16_t a, uint16_t b) const { return fma(a, b, 0x8000); }
  bool less(uint16_t a, uint16_t b) const { return format.value(a) < format.value(b); }
  bool equal(uint16_t a, uint16_t b) const { return format.value(a) == format.value(b); }
  bool unordered(uint16_t a, uint16_t b) const { return format.is_nan(a) || format.is_nan(b); }
  // -0 is below +0; one NaN gives way to a number unless it is asked to win.
  uint16_t minimum(uint16_t a, uint16_t b, bool nan_wins = false) const {
    if (unordered(a, b)) {
      const bool both = format.is_nan(a) && format.is_nan(b);
      return nan_wins || both ? format.nan() : format.is_nan(a) ? b : a;
    }
    if (equal(a, b)) return a & 0x8000 ? a : b;
    return less(a, b) ? a : b;
  }
  uint16_t maximum(uint16_t a, uint16_t b, bool nan_wins = false) const {
    if (unordered(a, b)) return minimum(a, b, nan_wins);
    return minimum(a ^ 0x8000, b ^ 0x8000) ^ 0x8000;
  }
  uint16_t saturated(uint16_t x) const {
    if (format.is_nan(x) || x & 0x8000) return 0;
    return less(format.round(1.0), x) ? format.round(1.0) : x;
  }
  uint16_t relu(uint16_t x) const { return format.is_nan(x) ? format.nan() : x & 0x8000 ? 0 : x; }

  void put_scalar(Column<uint16_t> to, uint16_t a, uint16_t b, uint16_t c) const {
    to.put(add(a, b));
    to.put(subtract(a, b));
    to.put(multiply(a, b));
    to.put(fma(a, b, c));
    to.put(a ^ 0x8000);
    to.put(a & 0x7fff);
    to.put(minimum(a, b));
    to.put(maximum(a, b));
    to.put(minimum(a, b, true));
    to.put(maximum(a, b, true));
    to.put(saturated(add(a, b)));
    to.put(saturated(fma(a, b, c)));
    to.put(relu(fma(a, b, c)));
    const bool u = unordered(a, b), lt = less(a, b), eq = equal(a, b), gt = less(b, a);
    const bool facts[13] = {eq,
                            !u && !eq,
                            lt,
                            lt || eq,
                            gt,
                            gt || eq,
                            eq || u,
                            !eq,
                            lt || u,
                            lt || eq || u,
                            gt || u,
                            gt || eq || u,
                            format.is_nan(a)};
    uint16_t bits = 0;
    for (int k = 0; k < 13; ++k) bits |= static_cast<uint16_t>(facts[k]) << k;
    to.put(bits);
  }

  void put_packed(Column<uint16_t> to, uint16_t a, uint16_t b, uint16_t c) const {
    const uint16_t x[2] = {a, b}, y[2] = {b, c}, z[2] = {c, a};
    for (int k = 0; k < 2; ++k) to.put(add(x[k], y[k]));
    for (int k = 0; k < 2; ++k) to.put(subtract(x[k], y[k]));
    for (int k = 0; k < 2; ++k) to.put(multiply(x[k], y[k]));
    for (int k = 0; k < 2; ++k) to.put(fma(x[k], y[k], z[k]));
    for (int k = 0; k < 2; ++k) to.put(x[k] ^ 0x8000);
    for (int k = 0; k < 2; ++k) to.put(x[k] & 0x7fff);
    for (int k = 0; k < 2; ++k) to.put(minimum(x[k], y[k]));
    for (int k = 0; k < 2; ++k) to.put(maximum(x[k], y[k]));
    bool eq = true, lt = true, ge = true, neu = true;
    uint32_t mask[2];
    for (int k = 0; k < 2; ++k) {
      eq = eq && equal(x[k], y[k]);
      lt = lt && less(x[k], y[k]);
      ge = ge && (less(y[k], x[k]) || equal(x[k], y[k]));
      neu = neu && !equal(x[k], y[k]);
      mask[k] = less(y[k], x[k]) ? 0xffff : 0;
    }
    to.put(static_cast<uint16_t>(eq << 0 | lt << 1 | ge << 2 | neu << 3));
    to.put(static_cast<uint16_t>(mask[0] ^ mask[1] * 3));
  }
};

template <typename T>
void run_arithmetic(Report& report, const SmallFloat& format) {
  const std::vector<uint16_t> values = small_float_inputs(format, 21, format.fraction_bits);
  const int n = static_cast<int>(values.size()), pairs = n * n;
  DeviceBuffer<uint16_t> input(values), scalar(kScalarRows * pairs), packed(kPackedRows * pairs);
  scalar_arithmetic<T><<<blocks_for(pairs, 128), 128>>>(input.get(), n, scalar.get());
  LAUNCHED_OK();
  packed_arithmetic<T><<<blocks_for(pairs, 128), 128>>>(input.get(), n, packed.get());
  LAUNCHED_OK();
  std::vector<uint16_t> want_scalar(scalar.count()), want_packed(packed.count());
  const Reference reference{format};
  for (int i = 0; i < pairs; ++i) {
    const uint16_t a = values[i / n], b = values[i % n], c = values[(i * 7 + 3) % n];
    reference.put_scalar({want_scalar.data(), pairs, i}, a, b, c);
    reference.put_packed({want_packed.data(), pairs, i}, a, b, c);
  }
  // The last rows hold comparison bits; all others are numbers, whose NaN payloads do not matter.
  const auto canonical = [&](std::vector<uint16_t> bits, int number_rows) {
    for (int i = 0; i < number_rows * pairs; ++i) bits[i] = format.canonical(bits[i]);
    return bits;
  };
  report.equal("scalar", canonical(scalar.download(), kScalarRows - 1),
               canonical(want_scalar, kScalarRows - 1));
  report.equal("packed", canonical(packed.download(), kPackedRows - 2),
               canonical(want_packed, kPackedRows - 2));
}
