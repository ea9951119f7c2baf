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

template <Round kRound, class Format, class S>
inline uint16_t rounded_to(Format format, S x) {
  if constexpr (sizeof(S) <= 2) return rounded_half<kRound>(format, static_cast<float>(x));
  return rounded_half<kRound>(format, to_float_odd(carrier(x)));
}

template <class To, class From, Round kRound, bool kSat>
struct FromInteger {
  using D = To;
  using S = From;
  static Stored<D> convert(Stored<S> bits) {
    const S value = static_cast<S>(bits);
    // Between integers and [0, 1] there is only 0 and 1.
    const S limited = kSat ? (value > 1 ? S{1} : value < 0 ? S{0} : value) : value;
    return std::bit_cast<Stored<D>>(rounded_to<kRound>(D{}, limited));
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
    const std::string name = kRoundName<round>;
    add_conversion<Plain>(t, name);
    if constexpr (!std::is_same_v<D, Bfloat>) add_conversion<Saturated>(t, name + ".sat");
    if constexpr (std::is_same_v<D, float>) {  // no integer becomes a subnormal
      add_conversion<Plain>(t, name + ".ftz");
      add_conversion<Saturated>(t, name + ".ftz.sat");
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
