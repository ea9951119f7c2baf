// Conversions between the tensor cores' element types and float, for whole registers at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace vgpu::matrix {

// Element i of a register that holds T, whatever type it was written as. Registers are read in place: a copy
// made in small pieces and read back in large ones would stall the CPU.
template <class T>
inline T load_at(const void* reg, int i) {
  T value;
  std::memcpy(&value, static_cast<const uint8_t*>(reg) + i * sizeof(T), sizeof(T));
  return value;
}

// No branches, so that loops over it become vector code.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  // With the exponent field as it is, the value is 2^112 too small, subnormals included.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t infinity_or_nan = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | infinity_or_nan | sign);
}

// Rounds to nearest even; every NaN becomes the quiet NaN 0x7fff of the tensor cores.
inline uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffu;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // from 65520 on
  if (magnitude < 0x38800000u) {
    // Below 2^-14. Adding 0.5 leaves a multiple of 2^-24 in the low bits, rounded by the addition itself.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000u));
  }
  const uint32_t even = magnitude >> 13 & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + even) >> 13));
}

// `count` is a multiple of 8.
inline void halves_to_floats(const void* halves, float* out, int count) {
#if defined(__F16C__)
  const auto* source = static_cast<const uint8_t*>(halves);
  for (int i = 0; i < count; i += 8) {
    const __m128i packed = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + 2 * i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(packed));
  }
#elif defined(__aarch64__)
  for (int i = 0; i < count; ++i) {
    __fp16 half;  // clang lets no function return one
    std::memcpy(&half, static_cast<const uint8_t*>(halves) + 2 * i, sizeof half);
    out[i] = half;
  }
#else
  for (int i = 0; i < count; ++i) out[i] = half_to_float(load_at<uint16_t>(halves, i));
#endif
}

// `count` is a multiple of 8.
inline void floats_to_halves(const float* in, void* halves, int count) {
  auto* target = static_cast<uint8_t*>(halves);
#if defined(__F16C__)
  const __m256i quiet_nan = _mm256_set1_epi32(0x7fffffff);  // becomes 0x7fff
  for (int i = 0; i < count; i += 8) {
    const __m256 value = _mm256_loadu_ps(in + i);
    const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    const __m256 clean = _mm256_blendv_ps(value, _mm256_castsi256_ps(quiet_nan), is_nan);
    const __m128i packed = _mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + 2 * i), packed);
  }
#else
  for (int i = 0; i < count; ++i) {
    const uint16_t half = float_to_half(in[i]);
    std::memcpy(target + 2 * i, &half, sizeof half);
  }
#endif
}

// The 256 values of an 8-bit float. e5m2 has infinities and NaNs like IEEE types; e4m3 has no infinity and
// one NaN for each sign, all its other patterns being numbers.
template <int kExponentBits, bool kHasInfinity>
constexpr std::array<float, 256> float8_values() {
  constexpr int kMantissaBits = 7 - kExponentBits;
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr int kTopExponent = (1 << kExponentBits) - 1;
  constexpr int kMantissas = 1 << kMantissaBits;
  std::array<float, 256> values{};
  for (int bits = 0; bits < 256; ++bits) {
    const int exponent = bits >> kMantissaBits & kTopExponent;
    const int mantissa = bits & (kMantissas - 1);
    float value = static_cast<float>(exponent == 0 ? mantissa : mantissa + kMantissas);
    for (int e = exponent == 0 ? 1 : exponent; e < kBias + kMantissaBits; ++e) value *= 0.5f;
    for (int e = kBias + kMantissaBits; e < exponent; ++e) value *= 2.0f;
    if (kHasInfinity && exponent == kTopExponent) {
      value = std::bit_cast<float>(mantissa == 0 ? 0x7f800000u : 0x7fffffffu);
    }
    if (!kHasInfinity && (bits & 0x7f) == 0x7f) value = std::bit_cast<float>(0x7fffffffu);
    values[bits] = bits & 0x80 ? -value : value;
  }
  return values;
}

}  // namespace vgpu::matrix
