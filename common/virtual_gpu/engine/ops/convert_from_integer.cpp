// cvt from integers to floating point, in all four roundings; .sat clamps to [0, 1].
#include "ops/builders.h"
#include "ops/convert_rounding.h"
#include "ops/convert_values.h"

namespace vgpu::ops {
namespace {

template <Round kRound, class S>
inline double rounded_to(double, S x) {
  return rounded_double<kRound>(x);
}

// The CPU rounds to nearest by itself.
template <Round kRound, class S>
inline float rounded_to(float, S x) {
  if constexpr (kRound == Round::kNearest) return static_cast<float>(x);
  return rounded_float<kRound>(carrier(x));
}

// Between integers and [0, 1] there is only 0 and 1.
template <class S>
inline S saturated(S x) {
  return x > 1 ? S{1} : x < 0 ? S{0} : x;
}

// To f16 and bf16 by way of an f32 that rounds as the integer would, in two halves that are each compiled
// once for all that share them.
template <class S, bool kSat>
[[gnu::noinline]] void carry_lanes(const Stored<S>* in, float* out) {
  for (int i = 0; i < kLanes; ++i) {
    const S value = kSat ? saturated(static_cast<S>(in[i])) : static_cast<S>(in[i]);
    if constexpr (sizeof(S) <= 2) {
      out[i] = static_cast<float>(value);
    } else {
      out[i] = to_float_odd(carrier(value));
    }
  }
}

template <Round kRound, class Format>
[[gnu::noinline]] void round_lanes(const float* in, uint16_t* out) {
  for (int i = 0; i < kLanes; ++i) out[i] = rounded_half<kRound>(Format{}, in[i]);
}

template <class To, class From, Round kRound, bool kSat>
struct FromInteger {
  using D = To;
  using S = From;
  static void convert_all(const Stored<S>* in, Stored<D>* out) {
    if constexpr (kIsHalfFormat<D>) {
      float exact[kLanes];
      carry_lanes<S, kSat>(in, exact);
      round_lanes<kRound, D>(exact, out);
    } else {
      VGPU_LANE_LOOP
      for (int i = 0; i < kLanes; ++i) {
        const S value = kSat ? saturated(static_cast<S>(in[i])) : static_cast<S>(in[i]);
        out[i] = std::bit_cast<Stored<D>>(rounded_to<kRound>(D{}, value));
      }
    }
  }
};

// Significant bits of the floating-point types, and of the integers.
template <class D>
constexpr int kPrecision = std::is_same_v<D, Half>     ? 11
                           : std::is_same_v<D, Bfloat> ? 8
                           : sizeof(D) == 4            ? 24
                                                       : 53;

template <class D, class S>
void add_rows(FormTable& t) {
  for_values<Round::kNearest, Round::kZero, Round::kDown, Round::kUp>([&](auto round) {
    // Where nothing is ever rounded the direction makes no difference.
    constexpr Round kRound = 8 * sizeof(S) <= kPrecision<D> ? Round::kNearest : round;
    using Plain = FromInteger<D, S, kRound, false>;
    using Saturated = FromInteger<D, S, Round::kNearest, true>;
    const char* const name = kRoundName<round>;
    add_conversion<Plain>(t, {name});
    if constexpr (!std::is_same_v<D, Bfloat>) add_conversion<Saturated>(t, {name, ".sat"});
    if constexpr (std::is_same_v<D, float>) {  // no integer becomes a subnormal
      add_conversion<Plain>(t, {name, ".ftz"});
      add_conversion<Saturated>(t, {name, ".ftz", ".sat"});
    }
  });
}

}  // namespace

void add_conversions_from_integer(FormTable& t) {
  for_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>([&]<class S>() {
    add_rows<Half, S>(t);
    add_rows<Bfloat, S>(t);
    add_rows<float, S>(t);
    add_rows<double, S>(t);
  });
}

}  // namespace vgpu::ops
