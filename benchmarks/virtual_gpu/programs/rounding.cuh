// Host references in a chosen rounding mode, and half and bfloat16 rounding done in plain integers.
#pragma once

#include <cfenv>

#include "check.cuh"

enum class Rounding { nearest, zero, up, down };
constexpr Rounding kRoundings[4] = {Rounding::nearest, Rounding::zero, Rounding::up, Rounding::down};

// Sets the host's rounding mode for a scope. Operands and results must be volatile, or the compiler may move
// the arithmetic out of it.
class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) {
    constexpr int kModes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~HostRounding() { std::fesetround(FE_TONEAREST); }
};

// The integral value of x, in double, in the given mode.
inline double to_integral(double x, Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest:
      return std::nearbyint(x);
    case Rounding::zero:
      return std::trunc(x);
    case Rounding::up:
      return std::ceil(x);
    default:
      return std::floor(x);
  }
}

// a * b + c rounded to odd in double: rounding that once more to half, bfloat16 or float is then exact,
// because the sticky last bit survives. The product must be exact in double, which holds for operands of 24
// bits or less.
inline double fma_to_odd(double a, double b, double c) {
  const double product = a * b;
  const double sum = product + c;
  if (!std::isfinite(sum)) return sum;
  const double virtual_c = sum - product;
  const double error = (product - (sum - virtual_c)) + (c - virtual_c);
  if (error == 0.0 || (bit_cast<uint64_t>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

struct SmallFloat {
  int exponent_bits;
  int fraction_bits;

  uint16_t infinity() const { return static_cast<uint16_t>(((1 << exponent_bits) - 1) << fraction_bits); }
  uint16_t nan() const { return 0x7fff; }
  bool is_nan(uint16_t bits) const { return (bits & 0x7fff) > infinity(); }
  uint16_t canonical(uint16_t bits) const { return is_nan(bits) ? nan() : bits; }
  int least_exponent() const { return 2 - (1 << (exponent_bits - 1)); }

  double value(uint16_t bits) const {
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    double magnitude;
    if (exponent == (1 << exponent_bits) - 1) {
      magnitude = fraction != 0 ? NAN : INFINITY;
    } else if (exponent == 0) {
      magnitude = std::ldexp(fraction, least_exponent() - fraction_bits);
    } else {
      magnitude =
          std::ldexp(fraction + (1 << fraction_bits), exponent - 1 + least_exponent() - fraction_bits);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
  }

  uint16_t round(double x, Rounding rounding = Rounding::nearest) const {
    if (std::isnan(x)) return nan();
    const bool negative = std::signbit(x);
    const uint16_t sign = negative ? 0x8000 : 0;
    const double magnitude = std::fabs(x);
    if (magnitude == 0) return sign;
    if (std::isinf(magnitude)) return sign | infinity();
    const int exponent = std::max(std::ilogb(magnitude), least_exponent());
    const bool away = rounding == Rounding::up ? !negative : rounding == Rounding::down ? negative : false;
    const double scaled = std::ldexp(magnitude, fraction_bits - exponent);
    const double units = rounding == Rounding::nearest ? std::nearbyint(scaled)
                         : away                        ? std::ceil(scaled)
                                                       : std::floor(scaled);
    // Units below 2^fraction_bits are subnormal; a carry out of the fraction moves the exponent up by itself.
    const int64_t bits =
        static_cast<int64_t>(units) + (static_cast<int64_t>(exponent - least_exponent()) << fraction_bits);
    if (bits < infinity()) return sign | static_cast<uint16_t>(bits);
    const bool to_infinity = rounding == Rounding::nearest || away;
    return sign | static_cast<uint16_t>(to_infinity ? infinity() : infinity() - 1);
  }
};

constexpr SmallFloat kHalf{5, 10};
constexpr SmallFloat kBfloat16{8, 7};

// Zeros, subnormals, the largest, infinities, a NaN, ordinary numbers, then random patterns.
inline std::vector<uint16_t> small_float_inputs(const SmallFloat& format, int random_count, uint64_t seed) {
  const uint16_t infinity = format.infinity();
  const uint16_t one = format.round(1.0);
  std::vector<uint16_t> bits = {0,
                                0x8000,
                                1,
                                0x8001,
                                static_cast<uint16_t>((1 << format.fraction_bits) - 1),
                                static_cast<uint16_t>(1 << format.fraction_bits),
                                one,
                                static_cast<uint16_t>(one | 0x8000),
                                static_cast<uint16_t>(one + 1),
                                static_cast<uint16_t>(one - 1),
                                static_cast<uint16_t>(infinity - 1),
                                static_cast<uint16_t>((infinity - 1) | 0x8000),
                                infinity,
                                static_cast<uint16_t>(infinity | 0x8000),
                                format.nan(),
                                format.round(0.5),
                                format.round(-2.5),
                                format.round(3.0),
                                format.round(1.0 / 3.0)};
  Random random(seed);
  for (int i = 0; i < random_count; ++i) bits.push_back(static_cast<uint16_t>(random.next32()));
  return bits;
}
