// cvt that packs: two f32 into f16x2, bf16x2 or two 8-bit floats, 8-bit floats to and from f16x2, integers
// into bytes or halves (cvt.pack); and the one-register conversion to tf32. Of two sources the first goes to
// the upper part.
#include "ops/builders.h"
#include "ops/convert_limits.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class Format, Round kRound, Limit kLimit>
void pack_halves(Warp& w, const Op& op) {
  uint16_t part[2][kLanes];
  for (int k = 0; k < 2; ++k) {
    const uint32_t* bits = lanes_in<uint32_t>(w, op.src[k]);
    float values[kLanes];
    for (int i = 0; i < kLanes; ++i) values[i] = limited<kLimit>(std::bit_cast<float>(bits[i]));
    to_halves<kRound, kLimit>(Format{}, values, part[k]);
  }
  store_lanes<true, uint32_t>(w, op.dst,
                              [&](int i) { return static_cast<uint32_t>(part[0][i]) << 16 | part[1][i]; });
}

template <bool kRelu>
inline float limited_below(float x) {
  return limited<kRelu ? Limit::kRelu : Limit::kNone>(x);
}

// 8-bit floats: magnitudes up to kLargest are finite; NaN has one pattern. e5m2 also has infinities.
struct E4m3 : SmallFloat<3, 7> {
  static constexpr const char* kType = ".e4m3x2";
  static constexpr uint32_t kLargest = 0x7e;
  static bool is_nan_code(uint32_t magnitude) { return magnitude == 0x7f; }
  static uint16_t infinite(uint16_t half, uint32_t) { return half; }
};

struct E5m2 : SmallFloat<2, 15> {
  static constexpr const char* kType = ".e5m2x2";
  static constexpr uint32_t kLargest = 0x7b;
  static bool is_nan_code(uint32_t magnitude) { return magnitude > 0x7c; }
  static uint16_t infinite(uint16_t half, uint32_t magnitude) {
    return magnitude == 0x7c ? Half::kInfinity : half;
  }
};

template <class Format>
inline uint32_t to_float8(float x) {
  constexpr uint32_t kNaN = 0x7f;
  const uint32_t magnitude = magnitude_bits(x);
  const uint32_t sign = bits_of(x) >> 24 & 0x80;
  // Above 2^16 no format has values; cutting there keeps the rounding's integer arithmetic in range.
  const uint32_t code = Format::encode(magnitude < (143u << 23) ? magnitude : 143u << 23);
  const uint32_t finite = code < Format::kLargest ? code : Format::kLargest;
  return pick<uint32_t>(is_nan(x), kNaN, finite | sign);
}

template <class Format>
inline uint16_t from_float8(uint32_t code) {
  const uint32_t magnitude = code & 0x7f;
  const uint16_t finite = to_nearest(Half{}, std::bit_cast<float>(Format::decode(magnitude)));
  const uint16_t value = Format::infinite(finite, magnitude) | static_cast<uint16_t>((code & 0x80) << 8);
  return Format::is_nan_code(magnitude) ? Half::kNaN : value;
}

template <class Format, bool kRelu>
struct PackFloat8 {
  uint16_t operator()(float a, float b) const { return static_cast<uint16_t>(one(a) << 8 | one(b)); }
  // From f16x2.
  uint16_t operator()(uint32_t halves) const {
    return (*this)(to_float(Half{}, static_cast<uint16_t>(halves >> 16)),
                   to_float(Half{}, static_cast<uint16_t>(halves)));
  }

 private:
  static uint32_t one(float x) { return to_float8<Format>(limited_below<kRelu>(x)); }
};

template <class Format, bool kRelu>
struct UnpackFloat8 {
  uint32_t operator()(uint16_t codes) const { return one(codes >> 8) << 16 | one(codes & 0xff); }

 private:
  static uint32_t one(uint32_t code) {
    const uint32_t half = from_float8<Format>(code);
    return kRelu && (half & 0x8000) ? 0 : half;
  }
};

// tf32 is f32 with 10 of its mantissa bits.
enum class Tf32Round { kNearest, kNearestAway, kZero };

template <Tf32Round kRound, bool kRelu, bool kFinite>
struct ToTf32 {
  uint32_t operator()(float x) const {
    constexpr uint32_t kCut = 0x1fff, kInfinity = FloatLayout<float>::kInfinity;
    const uint32_t bits = bits_of(limited_below<kRelu>(x));
    const uint32_t increment = kRound == Tf32Round::kZero          ? 0
                               : kRound == Tf32Round::kNearestAway ? 0x1000
                                                                   : 0x0fff + (bits >> 13 & 1);
    uint32_t rounded = (bits + increment) & ~kCut;
    if constexpr (kFinite) {
      const bool infinite = (rounded & ~FloatLayout<float>::kSign) == kInfinity;
      rounded -= infinite ? kCut + 1 : 0;
    }
    return is_nan(x) ? FloatLayout<float>::kNaN : rounded;
  }
};

// Two clamped integers of kBits below what the third operand has in its lowest bits.
template <class Limits, int kBits>
struct PackIntegers {
  uint32_t operator()(int32_t a, int32_t b, uint32_t c) const {
    return c << (2 * kBits) | one(a) << kBits | one(b);
  }
  uint32_t operator()(int32_t a, int32_t b) const { return one(a) << kBits | one(b); }

 private:
  static uint32_t one(int32_t x) {
    constexpr bool kSigned = std::is_signed_v<Limits>;
    constexpr int32_t kLow = kSigned ? -(1 << (kBits - 1)) : 0;
    constexpr int32_t kHigh = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;
    const int32_t limited = x < kLow ? kLow : x > kHigh ? kHigh : x;
    return static_cast<uint32_t>(limited) & ((1u << kBits) - 1);
  }
};

template <class Format, Round kRound>
void add_packed_halves(FormTable& t) {
  const auto add = [&](const char* modifiers, OpFn fn) {
    using U = uint32_t;
    t.map_with<U, U, U>({"cvt", kRoundName<kRound>, modifiers, Format::kType, "x2.f32"}, fn);
  };
  add("", &pack_halves<Format, kRound, Limit::kNone>);
  add(".relu", &pack_halves<Format, kRound, Limit::kRelu>);
  add(".satfinite", &pack_halves<Format, kRound, Limit::kFinite>);
  add(".relu.satfinite", &pack_halves<Format, kRound, Limit::kReluFinite>);
}

template <class Format, bool kRelu>
void add_float8(FormTable& t, std::string_view relu) {
  constexpr const char* kType = Format::kType;
  t.map<PackFloat8<Format, kRelu>, uint16_t, float, float>({"cvt.rn.satfinite", relu, kType, ".f32"});
  t.map<PackFloat8<Format, kRelu>, uint16_t, uint32_t>({"cvt.rn.satfinite", relu, kType, ".f16x2"});
  t.map<UnpackFloat8<Format, kRelu>, uint32_t, uint16_t>({"cvt.rn", relu, ".f16x2", kType});
}

template <class T, int kBits>
void add_pack(FormTable& t) {
  const char* const sign = std::is_signed_v<T> ? "s" : "u";
  const std::string bits = std::to_string(kBits);
  if constexpr (kBits == 16) {
    t.map<PackIntegers<T, kBits>, uint32_t, int32_t, int32_t>({"cvt.pack.sat.", sign, bits, ".s32"});
  } else {
    t.map<PackIntegers<T, kBits>, uint32_t, int32_t, int32_t, uint32_t>(
        {"cvt.pack.sat.", sign, bits, ".s32.b32"});
  }
}

}  // namespace

void add_packed_conversions(FormTable& t) {
  t.count_as(InstrClass::kConvert);
  add_packed_halves<Half, Round::kNearest>(t);
  add_packed_halves<Half, Round::kZero>(t);
  add_packed_halves<Bfloat, Round::kNearest>(t);
  add_packed_halves<Bfloat, Round::kZero>(t);

  add_float8<E4m3, false>(t, "");
  add_float8<E4m3, true>(t, ".relu");
  add_float8<E5m2, false>(t, "");
  add_float8<E5m2, true>(t, ".relu");

  using U = uint32_t;
  t.map<ToTf32<Tf32Round::kNearestAway, false, false>, U, float>("cvt.rna.tf32.f32");
  t.map<ToTf32<Tf32Round::kNearestAway, false, true>, U, float>("cvt.rna.satfinite.tf32.f32");
  t.map<ToTf32<Tf32Round::kNearest, false, false>, U, float>("cvt.rn.tf32.f32");
  t.map<ToTf32<Tf32Round::kNearest, true, false>, U, float>("cvt.rn.relu.tf32.f32");
  t.map<ToTf32<Tf32Round::kZero, false, false>, U, float>("cvt.rz.tf32.f32");
  t.map<ToTf32<Tf32Round::kZero, true, false>, U, float>("cvt.rz.relu.tf32.f32");

  for_types<uint32_t, int32_t>([&]<class T>() {
    add_pack<T, 16>(t);
    add_pack<T, 8>(t);
    add_pack<T, 4>(t);
    add_pack<T, 2>(t);
  });
}

}  // namespace vgpu::ops
