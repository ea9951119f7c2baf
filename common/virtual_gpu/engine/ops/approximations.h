// The functions of the special-function unit, for f32: polynomials that turn into vector code, as accurate as
// PTX asks for or better. Coefficients are minimax fits. Special values come out right by construction where
// that is cheap; NaN gets its fixed pattern from the caller.
#pragma once

#include "ops/float_tools.h"

namespace vgpu::ops {

inline float from_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

// sum c[k] x^k
template <size_t kCount>
inline float polynomial(const float (&c)[kCount], float x) {
  float sum = c[kCount - 1];
  for (size_t k = kCount - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

// 2^n for n in [-126, 127].
inline float power_of_two(int32_t n) {
  return from_bits(static_cast<uint32_t>(n + 127) << 23);
}

// 2^x = 2^k 2^f with f in [-1/2, 1/2]; relative error below 2^-23.
inline float approximate_exp2(float x) {
  constexpr float kFit[] = {0x1.000000p+0f, 0x1.62e430p-1f,  0x1.ebfbdap-3f, 0x1.c6aed4p-5f,
                            0x1.3b2dbcp-7f, 0x1.5f456ap-10f, 0x1.41d334p-13f};
  constexpr float kRounder = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  // Beyond these limits the result is 0 or infinity anyway; the comparisons let NaN through.
  const uint32_t not_low = pick(x < -160.0f, bits_of(-160.0f), bits_of(x));
  const float limited = from_bits(pick(x > 160.0f, bits_of(160.0f), not_low));
  const float shifted = limited + kRounder;
  const int32_t k = static_cast<int32_t>(bits_of(shifted) - bits_of(kRounder));
  const float f = limited - (shifted - kRounder);
  // In two factors, so that the one rounding of a subnormal result is the last.
  const int32_t half = k >> 1;
  return polynomial(kFit, f) * power_of_two(half) * power_of_two(k - half);
}

// x = 2^e m with m in [1/sqrt 2, sqrt 2); log2 m by the series of the inverse hyperbolic tangent.
inline float approximate_log2(float x) {
  constexpr float kFit[] = {0x1.715476p+1f, 0x1.ec709ep-1f, 0x1.277780p-1f, 0x1.a58d1ep-2f, 0x1.5cf006p-2f};
  constexpr uint32_t kRootHalf = 0x3f3504f3;
  const bool small = magnitude_bits(x) < FloatLayout<float>::kSmallestNormal;
  const uint32_t bits = bits_of(x * from_bits(pick(small, bits_of(0x1p24f), bits_of(1.0f))));
  const int32_t e = static_cast<int32_t>(bits - kRootHalf) >> 23;
  const float m = from_bits(bits - (static_cast<uint32_t>(e) << 23));
  const float s = (m - 1.0f) / (m + 1.0f);
  const float exponent = static_cast<float>(e - static_cast<int32_t>(pick<uint32_t>(small, 24, 0)));
  const float value = exponent + s * polynomial(kFit, s * s);
  const uint32_t minus_infinity = FloatLayout<float>::kInfinity | FloatLayout<float>::kSign;
  uint32_t result = pick(bits_of(x) == FloatLayout<float>::kInfinity, bits_of(x), bits_of(value));
  result = pick(is_nan(x) | (x < 0.0f), FloatLayout<float>::kNaN, result);
  return from_bits(pick(x == 0.0f, minus_infinity, result));
}

// |x| / (2 pi) less the nearest integer: in [-1/2, 1/2], NaN for infinity. The quotient is an f32 product
// rounded towards zero, as the hardware forms it, so that large arguments lose the same digits.
inline float turns(float x) {
  const double product =
      static_cast<double>(from_bits(magnitude_bits(x))) * static_cast<double>(0x1.45f306p-3f);
  const float nearest = static_cast<float>(product);
  const float quotient = from_bits(bits_of(nearest) - (static_cast<double>(nearest) > product));
  return quotient - __builtin_rintf(quotient);
}

// sin(2 pi u) for u in [-1/4, 1/4].
inline float sine_of_turns(float u) {
  constexpr float kFit[] = {0x1.921fb6p+2f,  -0x1.4abbcep+5f, 0x1.466bc0p+6f,
                            -0x1.32d130p+6f, 0x1.501422p+5f,  -0x1.cc9e24p+3f};
  return u * polynomial(kFit, u * u);
}

inline float approximate_sin(float x) {
  const float r = turns(x);
  const float distance = from_bits(magnitude_bits(r));
  const float mirrored = 0.5f - distance;
  const uint32_t folded = pick(distance > 0.25f, bits_of(mirrored), bits_of(distance));
  const uint32_t sign = (bits_of(r) ^ bits_of(x)) & FloatLayout<float>::kSign;
  return from_bits(bits_of(sine_of_turns(from_bits(folded))) ^ sign);
}

inline float approximate_cos(float x) {
  return sine_of_turns(0.25f - from_bits(magnitude_bits(turns(x))));
}

// A polynomial near zero, where the quotient would lose digits; 1 - 2 / (e^2x + 1) elsewhere.
inline float approximate_tanh(float x) {
  constexpr float kFit[] = {-0x1.555556p-2f, 0x1.1110ecp-3f,  -0x1.ba0960p-5f,
                            0x1.64b22cp-6f,  -0x1.119cf2p-7f, 0x1.2d53b0p-9f};
  constexpr float kTwoLog2E = 0x1.715476p+1f;
  const float m = from_bits(magnitude_bits(x));
  const float square = m * m;
  const float near_zero = m + m * square * polynomial(kFit, square);
  const float elsewhere = 1.0f - 2.0f / (approximate_exp2(m * kTwoLog2E) + 1.0f);
  const uint32_t value = pick(m < 0.625f, bits_of(near_zero), bits_of(elsewhere));
  return from_bits(value | (bits_of(x) & FloatLayout<float>::kSign));
}

// Divisors above 2^126 have a reciprocal below the normal range, which the hardware takes for zero.
inline float approximate_quotient(float a, float b) {
  const uint32_t m = magnitude_bits(b);
  const bool huge = (m > bits_of(0x1p126f)) & (m < FloatLayout<float>::kInfinity);
  const float zero = from_bits(bits_of(b) & FloatLayout<float>::kSign);
  return from_bits(pick(huge, bits_of(a * zero), bits_of(a / b)));
}

}  // namespace vgpu::ops
