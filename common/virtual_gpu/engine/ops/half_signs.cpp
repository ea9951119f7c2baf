// neg, abs, min and max of f16 and bf16, single and packed: on the bits, no conversion.
#include "ops/builders.h"
#include "ops/extrema.h"
#include "ops/half_tools.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class Format, bool kFtz>
inline uint16_t operand_bits(uint16_t bits) {
  if constexpr (kFtz) return flush_subnormal_half<Format>(bits);
  return bits;
}

template <class Format, bool kFtz>
struct Negate {
  uint16_t operator()(uint16_t a) const { return operand_bits<Format, kFtz>(a) ^ Format::kSign; }
};

template <class Format, bool kFtz>
struct Magnitude {
  uint16_t operator()(uint16_t a) const { return operand_bits<Format, kFtz>(a) & 0x7fff; }
};

template <class Format, bool kFtz, class Core>
struct Extreme {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return Core::template of_bits<Format, uint16_t>(operand_bits<Format, kFtz>(a),
                                                    operand_bits<Format, kFtz>(b));
  }
};

template <class Fn, bool kPacked>
void run_unary(Warp& w, const Op& op) {
  const uint16_t* a = lanes_in<uint16_t>(w, op.src[0]);
  uint16_t* d = lanes<uint16_t>(w, op.dst);
  VGPU_LANE_LOOP
  for (int i = 0; i < kHalves<kPacked>; ++i) d[i] = Fn{}(a[i]);
}

template <class Fn, bool kPacked>
void run_binary(Warp& w, const Op& op) {
  const uint16_t* a = lanes_in<uint16_t>(w, op.src[0]);
  const uint16_t* b = lanes_in<uint16_t>(w, op.src[1]);
  uint16_t* d = lanes<uint16_t>(w, op.dst);
  VGPU_LANE_LOOP
  for (int i = 0; i < kHalves<kPacked>; ++i) d[i] = Fn{}(a[i], b[i]);
}

using H = uint16_t;
using P = uint32_t;

template <class Fn>
void add_unary(FormTable& t, std::string_view op, std::string_view modifiers, std::string_view type) {
  t.map_with<H, H>({op, modifiers, type}, &run_unary<Fn, false>);
  t.map_with<P, P>({op, modifiers, type, "x2"}, &run_unary<Fn, true>);
}

template <class Fn>
void add_binary(FormTable& t, std::string_view op, std::string_view modifiers, std::string_view nan,
                std::string_view xorsign, std::string_view type) {
  t.map_with<H, H, H>({op, modifiers, nan, xorsign, type}, &run_binary<Fn, false>);
  t.map_with<P, P, P>({op, modifiers, nan, xorsign, type, "x2"}, &run_binary<Fn, true>);
}

template <class Format, bool kFtz>
void add_rows(FormTable& t, std::string_view modifiers) {
  add_unary<Negate<Format, kFtz>>(t, "neg", modifiers, Format::kType);
  add_unary<Magnitude<Format, kFtz>>(t, "abs", modifiers, Format::kType);
  for_values<false, true>([&](auto max) {
    for_values<false, true>([&](auto nan) {
      for_values<false, true>([&](auto xorsign) {
        add_binary<Extreme<Format, kFtz, Extremum<max, nan, xorsign>>>(
            t, max ? "max" : "min", modifiers, nan ? ".NaN" : "", xorsign ? ".xorsign.abs" : "",
            Format::kType);
      });
    });
  });
}

}  // namespace

void add_half_signs(FormTable& t) {
  t.count_as(InstrClass::kHalf);
  add_rows<Half, false>(t, "");
  add_rows<Half, true>(t, ".ftz");
  add_rows<Bfloat, false>(t, "");
}

}  // namespace vgpu::ops
