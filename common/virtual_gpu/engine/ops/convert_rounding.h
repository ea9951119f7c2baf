// Rounding of a conversion's result, in any of PTX's four directions, without touching the CPU's mode: round
// to nearest, look which side of the exact value the result is on, and step to the neighbour if it is the
// wrong one. Neighbours of a floating-point value differ by one in its bits.
#pragma once

#include <type_traits>

#include "ops/half_tools.h"

namespace vgpu::ops {

enum class Round { kNearest, kZero, kDown, kUp };

// PTX's names: to a floating-point value, and to an integer.
template <Round kRound>
constexpr const char* kRoundName = kRound == Round::kNearest ? ".rn"
                                   : kRound == Round::kZero  ? ".rz"
                                   : kRound == Round::kDown  ? ".rm"
                                                             : ".rp";
template <Round kRound>
constexpr const char* kRoundIntegerName = kRound == Round::kNearest ? ".rni"
                                          : kRound == Round::kZero  ? ".rzi"
                                          : kRound == Round::kDown  ? ".rmi"
                                                                    : ".rpi";

template <bool kFtz>
constexpr const char* kFtzName = kFtz ? ".ftz" : "";

// Corrects `bits`, a value rounded to nearest that lies above or below the exact one (or neither).
template <Round kRound, class B>
inline B step(B bits, bool above, bool below) {
  if constexpr (kRound == Round::kNearest) return bits;
  const B negative = bits >> (8 * sizeof(B) - 1);
  if constexpr (kRound == Round::kZero) {
    return static_cast<B>(bits - pick<B>(negative != 0, below, above));
  } else {
    const B wrong = kRound == Round::kDown ? above : below;
    const bool shrinks = (kRound == Round::kDown) == (negative == 0);
    return static_cast<B>(bits + pick<B>(shrinks, static_cast<B>(B{0} - wrong), wrong));
  }
}

// f32 to f16 or bf16.
template <Round kRound, class Format>
inline uint16_t rounded_half(Format format, float exact) {
  const uint16_t nearest = to_nearest(format, exact);
  const float back = to_float(format, nearest);
  return step<kRound, uint16_t>(nearest, back > exact, back < exact);
}

// f64 to f32.
template <Round kRound>
inline float rounded_float(double exact) {
  const float nearest = static_cast<float>(exact);
  const double back = static_cast<double>(nearest);
  return std::bit_cast<float>(step<kRound>(bits_of(nearest), back > exact, back < exact));
}

// A 64-bit integer to f64.
template <Round kRound, class T>
inline double rounded_double(T exact) {
  const double nearest = static_cast<double>(exact);
  if constexpr (kRound == Round::kNearest || sizeof(T) < 8) return nearest;
  const __int128 back = static_cast<__int128>(nearest);
  return std::bit_cast<double>(step<kRound>(bits_of(nearest), back > exact, back < exact));
}

// A 64-bit integer with at most 53 significant bits: what is cut off leaves a set last bit, so that rounding
// to any shorter format comes out as from the integer itself.
inline double sticky_double(uint64_t magnitude) {
  const uint64_t cut = magnitude & 0x7ff;
  const uint64_t jammed = (magnitude & ~uint64_t{0x7ff}) | (cut != 0 ? 0x800 : 0);
  return static_cast<double>(magnitude >> 53 != 0 ? jammed : magnitude);
}

inline double sticky_double(int64_t value) {
  const uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const double d = sticky_double(magnitude);
  return value < 0 ? -d : d;
}

// `x` as a number that later roundings may start from: exact for up to 32 bits.
template <class T>
inline double carrier(T x) {
  if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
    return sticky_double(x);
  } else {
    return static_cast<double>(x);
  }
}

inline float nearest_integral(float x) {
  return __builtin_rintf(x);
}
inline double nearest_integral(double x) {
  return __builtin_rint(x);
}

// x rounded to an integral value of its own type and sign. The other directions are made from the nearest:
// GCC has vector code for that one alone while exceptions count.
template <Round kRound, class T>
inline T integral(T x) {
  if constexpr (kRound == Round::kNearest) return nearest_integral(x);
  const auto one_if = [](bool condition) {
    return std::bit_cast<T>(pick<Bits<T>>(condition, bits_of(T{1}), 0));
  };
  const T from = kRound == Round::kZero ? std::bit_cast<T>(magnitude_bits(x)) : x;
  const T nearest = nearest_integral(from);
  const T rounded =
      kRound == Round::kUp ? nearest + one_if(nearest < from) : nearest - one_if(nearest > from);
  return std::bit_cast<T>(bits_of(rounded) | (bits_of(x) & FloatLayout<T>::kSign));
}

}  // namespace vgpu::ops
