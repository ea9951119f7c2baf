// Eight floats side by side: the row of a product that a tile computes at once. One type, two makings:
// AVX2 with fused multiply-add, and the compiler's own 16-byte vectors for every other target, with ARM's
// fused multiply-add where it gives the same bits.
#pragma once

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstring>

namespace vgpu::matrix {

#if defined(__AVX2__) && defined(__FMA__)

struct Float8 {
  __m256 v;
};

inline Float8 zero8() {
  return {_mm256_setzero_ps()};
}
inline Float8 load8(const float* p) {
  return {_mm256_loadu_ps(p)};
}

// acc + a * b for a scalar a. Products of the tensor cores' inputs are exact in float unless they leave its
// range, so that the fused form and the twin below give the same bits.
inline Float8 multiply_add(float a, Float8 b, Float8 acc) {
  return {_mm256_fmadd_ps(_mm256_set1_ps(a), b.v, acc.v)};
}
constexpr bool kFusedDiffers = false;  // multiply_add_in_range is the same
inline Float8 multiply_add_in_range(float a, Float8 b, Float8 acc) {
  return multiply_add(a, b, acc);
}

inline void store_halves(Float8 a, float* low4, float* high4) {
  _mm_storeu_ps(low4, _mm256_castps256_ps128(a.v));
  _mm_storeu_ps(high4, _mm256_extractf128_ps(a.v, 1));
}

// out[c][i] = in[order(i)][c] for an 8x8 block, where the order takes the even rows first: 0 2 4 6 1 3 5 7.
inline void transpose_even_odd(const float* in, int in_stride, float* out) {
  const auto row = [&](int r) { return _mm256_loadu_ps(in + r * in_stride); };
  const __m256 r0 = row(0), r1 = row(2), r2 = row(4), r3 = row(6), r4 = row(1), r5 = row(3), r6 = row(5),
               r7 = row(7);
  const __m256 a0 = _mm256_unpacklo_ps(r0, r1), a1 = _mm256_unpackhi_ps(r0, r1);
  const __m256 a2 = _mm256_unpacklo_ps(r2, r3), a3 = _mm256_unpackhi_ps(r2, r3);
  const __m256 a4 = _mm256_unpacklo_ps(r4, r5), a5 = _mm256_unpackhi_ps(r4, r5);
  const __m256 a6 = _mm256_unpacklo_ps(r6, r7), a7 = _mm256_unpackhi_ps(r6, r7);
  // Each holds one column of rows r0..r3 (or r4..r7) in its low half and the column four further in its high.
  const __m256 b0 = _mm256_shuffle_ps(a0, a2, 0x44), b1 = _mm256_shuffle_ps(a0, a2, 0xee);
  const __m256 b2 = _mm256_shuffle_ps(a1, a3, 0x44), b3 = _mm256_shuffle_ps(a1, a3, 0xee);
  const __m256 b4 = _mm256_shuffle_ps(a4, a6, 0x44), b5 = _mm256_shuffle_ps(a4, a6, 0xee);
  const __m256 b6 = _mm256_shuffle_ps(a5, a7, 0x44), b7 = _mm256_shuffle_ps(a5, a7, 0xee);
  const auto put = [&](int c, __m256 first, __m256 second) {
    _mm256_storeu_ps(out + 8 * c, _mm256_permute2f128_ps(first, second, 0x20));
    _mm256_storeu_ps(out + 8 * (c + 4), _mm256_permute2f128_ps(first, second, 0x31));
  };
  put(0, b0, b4);
  put(1, b1, b5);
  put(2, b2, b6);
  put(3, b3, b7);
}

#else

// 16 bytes, because wider vectors have no agreed calling convention on plain x86-64.
typedef float Float4 __attribute__((vector_size(16)));

struct Float8 {
  Float4 low, high;
};

inline Float8 zero8() {
  return {Float4{}, Float4{}};
}

inline Float8 load8(const float* p) {
  Float8 r;
  std::memcpy(&r, p, sizeof r);
  return r;
}

inline Float8 multiply_add(float a, Float8 b, Float8 acc) {
  return {acc.low + a * b.low, acc.high + a * b.high};
}

// The same bits in half the operations, where the CPU has them, for products that never leave the range.
#if defined(__aarch64__)
constexpr bool kFusedDiffers = true;
inline Float8 multiply_add_in_range(float a, Float8 b, Float8 acc) {
  return {vfmaq_n_f32(acc.low, b.low, a), vfmaq_n_f32(acc.high, b.high, a)};
}
#else
constexpr bool kFusedDiffers = false;
inline Float8 multiply_add_in_range(float a, Float8 b, Float8 acc) {
  return multiply_add(a, b, acc);
}
#endif

inline void store_halves(Float8 a, float* low4, float* high4) {
  std::memcpy(low4, &a.low, sizeof a.low);
  std::memcpy(high4, &a.high, sizeof a.high);
}

inline void transpose_even_odd(const float* in, int in_stride, float* out) {
  for (int c = 0; c < 8; ++c) {
    for (int i = 0; i < 4; ++i) {
      out[8 * c + i] = in[2 * i * in_stride + c];
      out[8 * c + 4 + i] = in[(2 * i + 1) * in_stride + c];
    }
  }
}

#endif

}  // namespace vgpu::matrix
