// What PTX arithmetic does to floating-point operands and results besides the operation itself: flush
// subnormals (.ftz), clamp to [0, 1] (.sat), and give NaN one fixed pattern.
#pragma once

#include <bit>
#include <cstdint>

#include "ops/lane_map.h"

namespace vgpu::ops {

template <class T>
struct FloatLayout;

template <>
struct FloatLayout<float> {
  static constexpr uint32_t kSign = 0x80000000u;
  static constexpr uint32_t kInfinity = 0x7f800000u;
  static constexpr uint32_t kSmallestNormal = 0x00800000u;
  static constexpr uint32_t kNaN = 0x7fffffffu;
};

template <>
struct FloatLayout<double> {
  static constexpr uint64_t kSign = 0x8000000000000000u;
  static constexpr uint64_t kInfinity = 0x7ff0000000000000u;
  static constexpr uint64_t kSmallestNormal = 0x0010000000000000u;
  static constexpr uint64_t kNaN = 0xfff8000000000000u;
};

// condition ? a : b, without the freedom to turn it into a branch: around arithmetic that could trap the
// compiler prefers one, and then gives up on vector code.
template <class B>
inline B pick(bool condition, B a, B b) {
  const B mask = static_cast<B>(B{0} - static_cast<B>(condition));
  return static_cast<B>((a & mask) | (b & ~mask));
}

template <class T>
inline Bits<T> bits_of(T x) {
  return std::bit_cast<Bits<T>>(x);
}

template <class T>
inline Bits<T> magnitude_bits(T x) {
  return bits_of(x) & ~FloatLayout<T>::kSign;
}

template <class T>
inline bool is_nan(T x) {
  return x != x;
}

// Results of arithmetic carry no payload.
template <class T>
inline T canonical(T x) {
  return std::bit_cast<T>(x == x ? bits_of(x) : FloatLayout<T>::kNaN);
}

// Subnormals become zero of the same sign.
template <class T>
inline T flush_subnormal(T x) {
  const Bits<T> bits = bits_of(x);
  const bool small = (bits & ~FloatLayout<T>::kSign) < FloatLayout<T>::kSmallestNormal;
  return std::bit_cast<T>(bits & pick<Bits<T>>(small, FloatLayout<T>::kSign, ~Bits<T>{0}));
}

// [0, 1]; NaN and -0 become +0.
template <class T>
inline T saturate(T x) {
  const T low = x > T{0} ? x : T{0};
  return low < T{1} ? low : T{1};
}

template <bool kFtz, class T>
inline T operand(T x) {
  if constexpr (kFtz) return flush_subnormal(x);
  return x;
}

template <bool kFtz, bool kSat, class T>
inline T result(T x) {
  if constexpr (kSat) {
    x = saturate(x);
  } else {
    x = canonical(x);
  }
  return operand<kFtz>(x);
}

// A scalar operation with PTX's treatment around it.
template <class Core, bool kFtz, bool kSat>
struct Arithmetic {
  template <class... T>
  auto operator()(T... x) const {
    return result<kFtz, kSat>(Core{}(operand<kFtz>(x)...));
  }
};

}  // namespace vgpu::ops
