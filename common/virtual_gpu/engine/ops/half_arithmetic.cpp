// add, sub, mul and fma of f16 and bf16, single and packed, with one rounding to nearest even.
//
// f16: operands become f32. A sum of two rounds twice, to 24 and then to 11 bits, which is harmless since
// 24 >= 2 * 11 + 2; a product has 22 bits and is exact; fma's sum of product and addend is rounded to odd, so
// that the second rounding is the only one that counts.
// bf16: the same, as long as product and addend stay clear of f32's ends, where f32 is no wider than bf16;
// else the whole warp's operation is done in f64, which is.
#include <type_traits>

#include "ops/builders.h"
#include "ops/half_tools.h"

namespace vgpu::ops {
namespace {

enum class Limit { kNone, kSaturate, kRelu };

template <Limit kLimit>
inline float limited(float x) {
  if constexpr (kLimit == Limit::kSaturate) return saturate(x);
  if constexpr (kLimit == Limit::kRelu) return x <= 0.0f ? 0.0f : x;  // NaN passes
  return x;
}

// Each operation in f32 and in f64, correct after one more rounding, and whether f32 will do for bf16.
struct Add {
  static constexpr int kOperands = 2;
  static float in_float(float a, float b, float) { return a + b; }
  static float in_double(float a, float b, float) { return a + b; }
  static bool float_will_do(float, float, float) { return true; }
};

struct Sub {
  static constexpr int kOperands = 2;
  static float in_float(float a, float b, float) { return a - b; }
  static float in_double(float a, float b, float) { return a - b; }
  static bool float_will_do(float, float, float) { return true; }
};

inline bool product_is_exact(float a, float b) {
  const uint32_t m = magnitude_bits(a * b);
  const bool zero = (magnitude_bits(a) == 0) | (magnitude_bits(b) == 0);
  return zero | ((m >= bits_of(0x1p-100f)) & (m <= bits_of(0x1p100f)));
}

struct Mul {
  static constexpr int kOperands = 2;
  static float in_float(float a, float b, float) { return a * b; }
  static float in_double(float a, float b, float) {
    return to_float_odd(static_cast<double>(a) * static_cast<double>(b));
  }
  static bool float_will_do(float a, float b, float) { return product_is_exact(a, b); }
};

struct Fma {
  static constexpr int kOperands = 3;
  static float in_float(float a, float b, float c) { return add_to_odd(a * b, c); }
  static float in_double(float a, float b, float c) {
    const double product = static_cast<double>(a) * static_cast<double>(b);
    return to_float_odd(add_to_odd(product, static_cast<double>(c)));
  }
  static bool float_will_do(float a, float b, float c) {
    return product_is_exact(a, b) & (magnitude_bits(c) <= bits_of(0x1p100f));
  }
};

// The operands as floats; with .ftz their subnormals are zero.
template <class Format, bool kFtz, int kCount>
struct Operand {
  float value[kCount];

  Operand(const Warp& w, uint32_t offset) {
    const uint16_t* bits = lanes_in<uint16_t>(w, offset);
    if constexpr (kFtz) {
      uint16_t flushed[kCount];
      for (int i = 0; i < kCount; ++i) flushed[i] = flush_subnormal_half<Format>(bits[i]);
      widen<kCount>(Format{}, flushed, value);
    } else {
      widen<kCount>(Format{}, bits, value);
    }
  }
};

template <class Core, class Format, int kCount>
inline bool float_will_do(const float* a, const float* b, const float* c) {
  if constexpr (std::is_same_v<Format, Half>) return true;
  uint32_t all = 1;
  for (int i = 0; i < kCount; ++i) all &= static_cast<uint32_t>(Core::float_will_do(a[i], b[i], c[i]));
  return all != 0;
}

template <class Core, class Format, Limit kLimit, int kCount>
inline void compute(const float* a, const float* b, const float* c, float* out) {
  if (float_will_do<Core, Format, kCount>(a, b, c)) {
    for (int i = 0; i < kCount; ++i) out[i] = limited<kLimit>(Core::in_float(a[i], b[i], c[i]));
  } else {
    for (int i = 0; i < kCount; ++i) out[i] = limited<kLimit>(Core::in_double(a[i], b[i], c[i]));
  }
}

template <class Core, class Format, bool kPacked, bool kFtz, Limit kLimit>
void run(Warp& w, const Op& op) {
  constexpr int kCount = kHalves<kPacked>;
  using Source = Operand<Format, kFtz, kCount>;
  const Source a(w, op.src[0]), b(w, op.src[1]);
  float out[kCount];
  if constexpr (Core::kOperands == 3) {
    const Source c(w, op.src[2]);
    compute<Core, Format, kLimit, kCount>(a.value, b.value, c.value, out);
  } else {
    compute<Core, Format, kLimit, kCount>(a.value, b.value, b.value, out);
  }
  uint16_t* d = lanes<uint16_t>(w, op.dst);
  narrow<kCount>(Format{}, out, d);
  if constexpr (kFtz) {
    for (int i = 0; i < kCount; ++i) d[i] = flush_subnormal_half<Format>(d[i]);
  }
}

template <class Core, class Format, bool kFtz, Limit kLimit>
void add_rows(FormTable& t, std::string_view op, std::string_view rounding, std::string_view modifiers) {
  const FormName name(op, rounding, modifiers, Format::kType);
  const FormName packed_name(op, rounding, modifiers, Format::kType, "x2");
  const OpFn single = &run<Core, Format, false, kFtz, kLimit>;
  const OpFn packed = &run<Core, Format, true, kFtz, kLimit>;
  using H = uint16_t;
  using P = uint32_t;
  if constexpr (Core::kOperands == 3) {
    t.map_with<H, H, H, H>(name, single);
    t.map_with<P, P, P, P>(packed_name, packed);
  } else {
    t.map_with<H, H, H>(name, single);
    t.map_with<P, P, P>(packed_name, packed);
  }
}

template <class Format, bool kFtz, Limit kLimit>
void add_sums(FormTable& t, std::string_view modifiers) {
  for (const char* rounding : {"", ".rn"}) {
    add_rows<Add, Format, kFtz, kLimit>(t, "add", rounding, modifiers);
    add_rows<Sub, Format, kFtz, kLimit>(t, "sub", rounding, modifiers);
    add_rows<Mul, Format, kFtz, kLimit>(t, "mul", rounding, modifiers);
  }
  add_rows<Fma, Format, kFtz, kLimit>(t, "fma", ".rn", modifiers);
}

}  // namespace

void add_half_arithmetic(FormTable& t) {
  t.count_as(InstrClass::kHalf);
  add_sums<Half, false, Limit::kNone>(t, "");
  add_sums<Half, false, Limit::kSaturate>(t, ".sat");
  add_sums<Half, true, Limit::kNone>(t, ".ftz");
  add_sums<Half, true, Limit::kSaturate>(t, ".ftz.sat");
  add_rows<Fma, Half, false, Limit::kRelu>(t, "fma", ".rn", ".relu");
  add_rows<Fma, Half, true, Limit::kRelu>(t, "fma", ".rn", ".ftz.relu");
}

void add_bfloat_arithmetic(FormTable& t) {
  t.count_as(InstrClass::kHalf);
  add_sums<Bfloat, false, Limit::kNone>(t, "");
  add_rows<Fma, Bfloat, false, Limit::kRelu>(t, "fma", ".rn", ".relu");
}

}  // namespace vgpu::ops
