// cvt from floating point to integers: rounded, then clamped to the destination's range; .sat adds nothing.
// NaN becomes 0, but the destination's highest bit when either side is 64 bits wide.
#pragma once

#include <limits>

#include "ops/convert_rounding.h"
#include "ops/convert_values.h"

namespace vgpu::ops {
// An integral x within D's range; NaN must not come here.
template <class D, class T>
inline D in_range(T x) {
  if constexpr (std::is_same_v<D, uint32_t>) {
    // Vector units convert to signed integers only; the difference is exact in f64.
    const int32_t shifted = static_cast<int32_t>(static_cast<double>(x) - 0x1p31);
    return static_cast<uint32_t>(shifted) ^ 0x80000000u;
  } else if constexpr (sizeof(D) < 4) {
    return static_cast<D>(static_cast<int32_t>(x));
  } else {
    return static_cast<D>(x);
  }
}

template <class D, class T>
inline D clamped(T x, D for_nan) {
  using B = Bits<T>;
  using U = std::make_unsigned_t<D>;
  constexpr D kLow = std::numeric_limits<D>::min(), kHigh = std::numeric_limits<D>::max();
  // One above the largest value is a power of two and exact in every type.
  constexpr T kEnd = static_cast<T>(D{1} + kHigh / 2) * T{2};
  const bool low = x <= static_cast<T>(kLow), high = x >= kEnd, nan = is_nan(x);
  const T safe = std::bit_cast<T>(pick<B>(low | high | nan, 0, bits_of(x)));
  U result = static_cast<U>(in_range<D>(safe));
  result = pick<U>(low, static_cast<U>(kLow), result);
  result = pick<U>(high, static_cast<U>(kHigh), result);
  return static_cast<D>(pick<U>(nan, static_cast<U>(for_nan), result));
}

// The two halves of a conversion, each compiled once for all that share it.
template <class S, Round kRound, bool kFtz>
[[gnu::noinline]] void round_lanes(const Stored<S>* in, Value<S>* out) {
  values_of<S>(in, out);
  for (int i = 0; i < kLanes; ++i) out[i] = integral<kRound>(operand<kFtz>(out[i]));
}

template <class D, class T>
[[gnu::noinline]] void clamp_lanes(const T* in, Stored<D>* out, D for_nan) {
  for (int i = 0; i < kLanes; ++i) out[i] = static_cast<Stored<D>>(clamped<D>(in[i], for_nan));
}

template <class To, class From, Round kRound, bool kFtz>
struct ToInteger {
  using D = To;
  using S = From;

  static void convert_all(const Stored<S>* in, Stored<D>* out) {
    constexpr bool kWide = sizeof(D) == 8 || sizeof(Stored<S>) == 8;
    constexpr D kForNaN = static_cast<D>(kWide ? Stored<D>{1} << (8 * sizeof(D) - 1) : 0);
    if constexpr (std::is_same_v<S, float> && sizeof(D) == 4) {  // in everyday use: in one pass
      VGPU_LANE_LOOP
      for (int i = 0; i < kLanes; ++i) {
        const float value = operand<kFtz>(std::bit_cast<float>(in[i]));
        out[i] = static_cast<Stored<D>>(clamped<D>(integral<kRound>(value), kForNaN));
      }
    } else {
      Value<S> rounded[kLanes];
      round_lanes<S, kRound, kFtz>(in, rounded);
      clamp_lanes<D>(rounded, out, kForNaN);
    }
  }
};

template <class D, class S, bool kFtz = false>
void add_roundings_to_integer(FormTable& t) {
  for_values<Round::kNearest, Round::kZero, Round::kDown, Round::kUp>([&](auto round) {
    using C = ToInteger<D, S, round, kFtz>;
    const char* const name = kRoundIntegerName<round>;
    add_conversion<C>(t, {name, kFtzName<kFtz>});
    if constexpr (!std::is_same_v<S, Bfloat>) add_conversion<C>(t, {name, kFtzName<kFtz>, ".sat"});
  });
}

template <class D>
void add_conversions_to(FormTable& t) {
  add_roundings_to_integer<D, Half>(t);
  add_roundings_to_integer<D, Bfloat>(t);
  add_roundings_to_integer<D, float>(t);
  add_roundings_to_integer<D, float, true>(t);
  add_roundings_to_integer<D, double>(t);
}

}  // namespace vgpu::ops
