// f16 and bf16 as bits, and their conversion from and to f32 over many lanes at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "ops/float_tools.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace vgpu::ops {

struct Half {
  static constexpr const char* kType = ".f16";
  static constexpr uint16_t kSign = 0x8000;
  static constexpr uint16_t kInfinity = 0x7c00;
  static constexpr uint16_t kLargest = 0x7bff;
  static constexpr uint16_t kSmallestNormal = 0x0400;
  static constexpr uint16_t kNaN = 0x7fff;
};

struct Bfloat {
  static constexpr const char* kType = ".bf16";
  static constexpr uint16_t kSign = 0x8000;
  static constexpr uint16_t kInfinity = 0x7f80;
  static constexpr uint16_t kLargest = 0x7f7f;
  static constexpr uint16_t kSmallestNormal = 0x0080;
  static constexpr uint16_t kNaN = 0x7fff;
};

template <class Format>
inline uint16_t flush_subnormal_half(uint16_t bits) {
  const bool small = (bits & 0x7fff) < Format::kSmallestNormal;
  return static_cast<uint16_t>(small ? bits & Format::kSign : bits);
}

// A format with kMantissa explicit bits and the given exponent bias, its values' magnitudes as integers.
template <int kMantissa, int kBias>
struct SmallFloat {
  static constexpr int kShift = 23 - kMantissa;
  static constexpr uint32_t kRebias = (127 - kBias) << 23;
  static constexpr uint32_t kSubnormalScale = (128 - kBias) << 23;

  // Exact for finite values. The exponent is moved by an integer addition for normal values; a subnormal is
  // made by putting its bits under a known exponent and subtracting that exponent's value.
  static uint32_t decode(uint32_t magnitude) {
    const uint32_t moved = magnitude << kShift;
    const float subnormal =
        std::bit_cast<float>(moved + kSubnormalScale) - std::bit_cast<float>(kSubnormalScale);
    return pick(magnitude < (1u << kMantissa), bits_of(subnormal), moved + kRebias);
  }

  // To nearest even, without regard to the largest value. A subnormal is rounded by the FPU: the last bit of
  // the number it is added to is worth as much as the last bit of the result.
  static uint32_t encode(uint32_t magnitude) {
    constexpr uint32_t kAddend = (128 - kBias + kShift) << 23;
    const uint32_t rounded = magnitude + ((1u << (kShift - 1)) - 1) + (magnitude >> kShift & 1);
    const uint32_t normal = (rounded - kRebias) >> kShift;
    const uint32_t subnormal =
        bits_of(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kAddend)) - kAddend;
    return pick(magnitude < kSubnormalScale, subnormal, normal);
  }
};

inline float to_float(Half, uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fff;
  const uint32_t full_exponent =
      pick<uint32_t>(magnitude >= Half::kInfinity, FloatLayout<float>::kInfinity, 0);
  const uint32_t value = SmallFloat<10, 15>::decode(magnitude) | full_exponent;
  return std::bit_cast<float>(value | static_cast<uint32_t>(bits & 0x8000) << 16);
}

inline float to_float(Bfloat, uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// To nearest even; NaN becomes the fixed pattern.
inline uint16_t to_nearest(Half, float x) {
  const uint32_t magnitude = magnitude_bits(x);
  const uint32_t sign = bits_of(x) >> 16 & 0x8000;
  const uint32_t encoded = SmallFloat<10, 15>::encode(magnitude);
  const bool fits = (magnitude < (143u << 23)) & (encoded < Half::kInfinity);
  const uint32_t value = pick<uint32_t>(fits, encoded, Half::kInfinity) | sign;
  return static_cast<uint16_t>(pick<uint32_t>(magnitude > FloatLayout<float>::kInfinity, Half::kNaN, value));
}

inline uint16_t to_nearest(Bfloat, float x) {
  const uint32_t bits = bits_of(x);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(magnitude_bits(x) > FloatLayout<float>::kInfinity ? Bfloat::kNaN : rounded);
}

// The same over kCount elements; kCount is a multiple of 32.
template <int kCount, class Format>
inline void widen(Format format, const uint16_t* in, float* out) {
  for (int i = 0; i < kCount; ++i) out[i] = to_float(format, in[i]);
}

template <int kCount, class Format>
inline void narrow(Format format, const float* in, uint16_t* out) {
  for (int i = 0; i < kCount; ++i) out[i] = to_nearest(format, in[i]);
}

#if defined(__F16C__)
template <int kCount>
inline void widen(Half, const uint16_t* in, float* out) {
  for (int i = 0; i < kCount; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(bits));
  }
}

template <int kCount>
inline void narrow(Half, const float* in, uint16_t* out) {
  for (int i = 0; i < kCount; i += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), bits);
  }
  for (int i = 0; i < kCount; ++i) {
    const uint16_t bits = out[i];
    out[i] = (bits & 0x7fff) > Half::kInfinity ? Half::kNaN : bits;
  }
}
#endif

// A pair of halves lies in one 32-bit lane, so the packed forms work on 64 neighbouring elements.
template <bool kPacked>
constexpr int kHalves = kPacked ? 2 * kLanes : kLanes;

// x made such that any later rounding to fewer bits comes out as if from the exact value: cut towards zero,
// with the last bit set when something was lost ("round to odd"). `rest` is the exact value minus x.
template <class T>
inline T round_to_odd(T x, T rest) {
  const Bits<T> inexact = (rest < T{0}) | (rest > T{0});  // false for the NaN that infinities leave
  const Bits<T> too_large = inexact & ((rest < T{0}) ^ (bits_of(x) >> (8 * sizeof(T) - 1)));
  return std::bit_cast<T>((bits_of(x) - too_large) | inexact);
}

// a + b, rounded to odd.
template <class T>
inline T add_to_odd(T a, T b) {
  const T sum = a + b;
  const T b_part = sum - a;
  const T rest = (a - (sum - b_part)) + (b - b_part);
  return round_to_odd(sum, rest);
}

// f64 to f32, rounded to odd.
inline float to_float_odd(double x) {
  const float rounded = static_cast<float>(x);
  const double back = static_cast<double>(rounded);
  const double rest = x - back;
  return round_to_odd(rounded, rest < 0.0 ? -1.0f : rest > 0.0 ? 1.0f : 0.0f);
}

}  // namespace vgpu::ops
