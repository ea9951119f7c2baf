// cvt between floating-point types, and from one to itself rounded to an integral value.
#include "ops/builders.h"
#include "ops/convert_limits.h"
#include "ops/convert_values.h"

namespace vgpu::ops {
namespace {

inline float as_float_odd(float x) {
  return x;
}
inline float as_float_odd(double x) {
  return to_float_odd(x);
}

// The two halves of a conversion to f16 or bf16, each compiled once for all that share it.
template <class S, bool kFtz, Limit kLimit>
[[gnu::noinline]] void limit_lanes(const Stored<S>* in, float* out) {
  Value<S> value[kLanes];
  values_of<S>(in, value);
  for (int i = 0; i < kLanes; ++i) {
    out[i] = as_float_odd(limited<kLimit>(operand < kFtz && sizeof(Value<S>) == 4 > (value[i])));
  }
}

template <class Format, Round kRound, Limit kLimit>
[[gnu::noinline]] void round_lanes(const float* in, uint16_t* out) {
  to_halves<kRound, kLimit>(Format{}, in, out);
}

// To a shorter type, or one that is no longer.
template <class To, class From, Round kRound, bool kFtz, Limit kLimit>
struct Narrow {
  using D = To;
  using S = From;

  static void convert_all(const Stored<S>* in, Stored<D>* out) {
    if constexpr (std::is_same_v<D, float>) {
      VGPU_LANE_LOOP
      for (int i = 0; i < kLanes; ++i) {
        const double value = limited<kLimit>(std::bit_cast<double>(in[i]));
        out[i] = bits_of(operand<kFtz>(canonical(rounded_float<kRound>(value))));
      }
    } else {
      float exact[kLanes];
      if constexpr (std::is_same_v<S, float> && kRound == Round::kNearest) {  // in everyday use: in one pass
        for (int i = 0; i < kLanes; ++i)
          exact[i] = limited<kLimit>(operand<kFtz>(std::bit_cast<float>(in[i])));
        to_halves<kRound, kLimit>(D{}, exact, out);
      } else {
        limit_lanes<S, kFtz, kLimit>(in, exact);
        constexpr bool kFinite = kLimit == Limit::kFinite || kLimit == Limit::kReluFinite;
        round_lanes<D, kRound, kFinite ? Limit::kFinite : Limit::kNone>(exact, out);
      }
    }
  }
};

// To a longer type: exact. f32 results carry the fixed NaN, f64 results keep what the source's NaN said.
template <class To, class From, bool kFtz, Limit kLimit>
struct Widen {
  using D = To;
  using S = From;
  static void convert_all(const Stored<S>* in, Stored<D>* out) {
    Value<S> value[kLanes];
    values_of<S>(in, value);
    for (int i = 0; i < kLanes; ++i) {
      const Value<S> x = limited<kLimit>(operand<kFtz>(value[i]));
      if constexpr (sizeof(D) == 4) {
        out[i] = bits_of(canonical(x));
      } else {
        out[i] = bits_of(static_cast<D>(x));
      }
    }
  }
};

// bf16 is the upper half of an f32; the hardware shifts, so a NaN keeps its bits.
template <bool kFtz>
struct WidenBfloat {
  using D = float;
  using S = Bfloat;
  static uint32_t convert(uint16_t bits) {
    return bits_of(operand<kFtz>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)));
  }
};

// The same type: bits as they are, or clamped, or rounded to an integral value.
template <class T>
struct Same {
  using D = T;
  using S = T;
  static Stored<T> convert(Stored<T> bits) { return bits; }
};

template <class T, class Fn>
[[gnu::noinline]] void apply_to_lanes(T* values) {
  for (int i = 0; i < kLanes; ++i) values[i] = Fn{}(values[i]);
}

// Applies Fn to each value of the type.
template <class T, class Fn>
struct PerValue {
  using D = T;
  using S = T;
  static void convert_all(const Stored<T>* in, Stored<T>* out) {
    Value<T> value[kLanes];
    values_of<T>(in, value);
    apply_to_lanes<Value<T>, Fn>(value);
    if constexpr (kIsHalfFormat<T>) {
      narrow<kLanes>(T{}, value, out);
    } else {
      for (int i = 0; i < kLanes; ++i) out[i] = bits_of(value[i]);
    }
  }
};

template <bool kFtz, Limit kLimit>
struct Adjust {
  template <class T>
  T operator()(T x) const {
    return canonical(limited<kLimit>(operand<kFtz>(x)));
  }
};

template <Round kRound, bool kFtz, Limit kLimit>
struct Integral {
  template <class T>
  T operator()(T x) const {
    return canonical(limited<kLimit>(integral<kRound>(operand<kFtz>(x))));
  }
};

template <class F>
void for_roundings(F f) {
  for_values<Round::kNearest, Round::kZero, Round::kDown, Round::kUp>(f);
}

// {.ftz}{.sat} where f32 is involved.
template <class D, class S, Round kRound, bool kFtz = false>
void add_narrow(FormTable& t) {
  const char* const name = kRoundName<kRound>;
  add_conversion<Narrow<D, S, kRound, kFtz, Limit::kNone>>(t, {name, kFtzName<kFtz>});
  if constexpr (!std::is_same_v<D, Bfloat> && !std::is_same_v<S, Bfloat>) {
    add_conversion<Narrow<D, S, kRound, kFtz, Limit::kSaturate>>(t, {name, kFtzName<kFtz>, ".sat"});
  }
}

template <class D, Round kRound>
void add_limits(FormTable& t) {
  const char* const name = kRoundName<kRound>;
  add_conversion<Narrow<D, float, kRound, false, Limit::kRelu>>(t, {name, ".relu"});
  add_conversion<Narrow<D, float, kRound, false, Limit::kFinite>>(t, {name, ".satfinite"});
  add_conversion<Narrow<D, float, kRound, false, Limit::kReluFinite>>(t, {name, ".relu", ".satfinite"});
}

template <class D, class S, bool kFtz = false>
void add_widen(FormTable& t) {
  add_conversion<Widen<D, S, kFtz, Limit::kNone>>(t, {kFtzName<kFtz>});
  add_conversion<Widen<D, S, kFtz, Limit::kSaturate>>(t, {kFtzName<kFtz>, ".sat"});
}

template <class T, bool kFtz>
void add_integral(FormTable& t) {
  for_roundings([&](auto round) {
    const char* const name = kRoundIntegerName<round>;
    add_conversion<PerValue<T, Integral<round, kFtz, Limit::kNone>>>(t, {name, kFtzName<kFtz>});
    if constexpr (!std::is_same_v<T, Bfloat>) {
      add_conversion<PerValue<T, Integral<round, kFtz, Limit::kSaturate>>>(t, {name, kFtzName<kFtz>, ".sat"});
    }
  });
}

}  // namespace

void add_narrowing_conversions(FormTable& t) {
  for_roundings([&](auto round) {
    add_narrow<Half, float, round>(t);
    add_narrow<Half, float, round, true>(t);
    add_narrow<Half, double, round>(t);
    add_narrow<Half, Bfloat, round>(t);
    add_narrow<Bfloat, float, round>(t);
    add_narrow<Bfloat, float, round, true>(t);
    add_narrow<Bfloat, double, round>(t);
    add_narrow<Bfloat, Half, round>(t);
    add_narrow<float, double, round>(t);
    add_narrow<float, double, round, true>(t);
  });
  add_limits<Half, Round::kNearest>(t);
  add_limits<Half, Round::kZero>(t);
  add_limits<Bfloat, Round::kNearest>(t);
  add_limits<Bfloat, Round::kZero>(t);
}

void add_widening_conversions(FormTable& t) {
  add_widen<float, Half>(t);
  add_widen<float, Half, true>(t);
  add_widen<double, float>(t);
  add_widen<double, float, true>(t);
  add_widen<double, Half>(t);
  // A rounding may be written though nothing is rounded.
  for (const char* rounding : {"", ".rn", ".rz", ".rm", ".rp"}) {
    add_conversion<WidenBfloat<false>>(t, {rounding});
    add_conversion<WidenBfloat<true>>(t, {rounding, ".ftz"});
    add_conversion<Widen<double, Bfloat, false, Limit::kNone>>(t, {rounding});
  }
}

void add_integral_conversions(FormTable& t) {
  for_types<Half, Bfloat, float, double>([&]<class T>() {
    add_conversion<Same<T>>(t, {});
    add_integral<T, false>(t);
    if constexpr (!std::is_same_v<T, Bfloat>)
      add_conversion<PerValue<T, Adjust<false, Limit::kSaturate>>>(t, {".sat"});
  });
  add_integral<float, true>(t);
  add_conversion<PerValue<float, Adjust<true, Limit::kNone>>>(t, {".ftz"});
  add_conversion<PerValue<float, Adjust<true, Limit::kSaturate>>>(t, {".ftz", ".sat"});
}

}  // namespace vgpu::ops
