// ex2 and tanh of f16 and bf16, single and packed, by way of f32.
#include "ops/approximations.h"
#include "ops/builders.h"
#include "ops/half_tools.h"

namespace vgpu::ops {
namespace {

template <float (*kFunction)(float), class Format, bool kPacked, bool kFtz>
void run(Warp& w, const Op& op) {
  constexpr int kCount = kHalves<kPacked>;
  const uint16_t* a = lanes_in<uint16_t>(w, op.src[0]);
  uint16_t* d = lanes<uint16_t>(w, op.dst);
  uint16_t bits[kCount];
  float value[kCount];
  for (int i = 0; i < kCount; ++i) bits[i] = kFtz ? flush_subnormal_half<Format>(a[i]) : a[i];
  widen<kCount>(Format{}, bits, value);
  for (int i = 0; i < kCount; ++i) value[i] = kFunction(value[i]);
  narrow<kCount>(Format{}, value, bits);
  for (int i = 0; i < kCount; ++i) d[i] = kFtz ? flush_subnormal_half<Format>(bits[i]) : bits[i];
}

template <float (*kFunction)(float), class Format, bool kFtz>
void add_rows(FormTable& t, std::string_view op) {
  constexpr const char* kModifiers = kFtz ? ".approx.ftz" : ".approx";
  t.map_with<uint16_t, uint16_t>({op, kModifiers, Format::kType}, &run<kFunction, Format, false, kFtz>);
  t.map_with<uint32_t, uint32_t>({op, kModifiers, Format::kType, "x2"}, &run<kFunction, Format, true, kFtz>);
}

}  // namespace

void add_special_functions_of_halves(FormTable& t) {
  t.count_as(InstrClass::kSpecialFunction);
  add_rows<approximate_exp2, Half, false>(t, "ex2");
  add_rows<approximate_exp2, Bfloat, true>(t, "ex2");
  add_rows<approximate_tanh, Half, false>(t, "tanh");
  add_rows<approximate_tanh, Bfloat, false>(t, "tanh");
}

}  // namespace vgpu::ops
