// Rows for cvt: one for every pair of register widths a conversion may be used with.
//
// A "converter" is a type with D and S, the types it goes to and from, and
//   static Bits<D> convert(Bits<S>)      or, where a whole register is done at once,
//   static void convert_all(const Bits<S>* in, Bits<D>* out)
// The loop over lanes is compiled once for each converter. Where a register is wider than the type, one
// function for all converters runs loops that resize before it and after it.
#pragma once

#include <initializer_list>
#include <type_traits>

#include "ops/form_table.h"
#include "ops/half_tools.h"
#include "ops/types.h"

namespace vgpu::ops {

template <class T>
constexpr bool kIsHalfFormat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

// The unsigned integer that holds a value of the type.
template <class T>
using Stored = std::conditional_t<kIsHalfFormat<T>, uint16_t, Bits<T>>;

template <>
inline constexpr const char* kTypeName<Half> = "f16";
template <>
inline constexpr const char* kTypeName<Bfloat> = "bf16";

template <class C>
concept ConvertsAll =
    requires(const Stored<typename C::S>* in, Stored<typename C::D>* out) { C::convert_all(in, out); };

// `in` holds 32 of the unsigned integers that store C's source, `out` receives as many of its result's.
using LaneConversion = void (*)(const void* in, void* out);

template <class C>
[[gnu::noinline]] void convert_lanes(const void* in, void* out) {
  const auto* from = static_cast<const Stored<typename C::S>*>(in);
  auto* to = static_cast<Stored<typename C::D>*>(out);
  if constexpr (ConvertsAll<C>) {
    C::convert_all(from, to);
  } else {
    VGPU_LANE_LOOP
    for (int i = 0; i < kLanes; ++i) to[i] = C::convert(from[i]);
  }
}

// Registers as wide as the types.
template <class C>
void run_conversion(Warp& w, const Op& op) {
  convert_lanes<C>(w.regs + op.src[0], w.regs + op.dst);
}

// A type that conversions go to or from. Signed ones keep their sign in wider registers.
struct ConvertedType {
  const char* name;
  int bytes;
  bool is_signed, is_bfloat;
};

template <class T>
constexpr ConvertedType kConverted{kTypeName<T>, sizeof(Stored<T>),
                                   std::is_integral_v<T> && std::is_signed_v<T>, std::is_same_v<T, Bfloat>};

// The parts of a name between "cvt" and the types.
using Modifiers = std::initializer_list<const char*>;

// The name is "cvt", the modifiers and the two types. `exact` runs where both registers are as wide as the
// types; there is none for types of 8 bits, which have no registers of their own.
[[gnu::cold]] void add_conversion_rows(FormTable& t, Modifiers modifiers, const ConvertedType& to,
                                       const ConvertedType& from, OpFn exact, LaneConversion convert);

template <class C>
void add_conversion(FormTable& t, Modifiers modifiers) {
  using D = typename C::D;
  using S = typename C::S;
  OpFn exact = nullptr;
  if constexpr (sizeof(Stored<D>) > 1 && sizeof(Stored<S>) > 1) exact = &run_conversion<C>;
  add_conversion_rows(t, modifiers, kConverted<D>, kConverted<S>, exact, &convert_lanes<C>);
}

}  // namespace vgpu::ops
