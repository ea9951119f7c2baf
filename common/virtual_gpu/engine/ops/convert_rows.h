// Rows for cvt: one for every pair of register widths a conversion may be used with.
//
// A "converter" is a type with D and S, the types it goes to and from, and
//   static Bits<D> convert(Bits<S>)      or, where a whole register is done at once,
//   static void convert_all(const Bits<S>* in, Bits<D>* out)
// The loop over lanes is compiled once for each converter; the rows are small functions around it.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
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

// Into another integer width: a signed value keeps its sign, all else is filled with zeros or cut.
template <class T, class From, class To>
[[gnu::noinline]] void resize_lanes(const void* in, void* out) {
  using Value =
      std::conditional_t<std::is_integral_v<T> && std::is_signed_v<T>, std::make_signed_t<From>, From>;
  const auto* from = static_cast<const From*>(in);
  auto* to = static_cast<To*>(out);
  VGPU_LANE_LOOP
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<To>(static_cast<Value>(from[i]));
}

template <class T, class From, class To>
constexpr LaneConversion kResize = std::is_same_v<From, To> ? nullptr : &resize_lanes<T, From, To>;

// A conversion between registers of other widths than its types; a resize that is not needed is null.
void convert_resized(Warp& w, const Op& op, LaneConversion resize_source, LaneConversion convert,
                     LaneConversion resize_result);

template <class C, class DstRegister, class SrcRegister>
void run_conversion(Warp& w, const Op& op) {
  using Result = Stored<typename C::D>;
  using Source = Stored<typename C::S>;
  if constexpr (std::is_same_v<Source, SrcRegister> && std::is_same_v<Result, DstRegister>) {
    convert_lanes<C>(w.regs + op.src[0], w.regs + op.dst);
  } else {
    convert_resized(w, op, kResize<Source, SrcRegister, Source>, &convert_lanes<C>,
                    kResize<typename C::D, Result, DstRegister>);
  }
}

struct ConversionRow {
  int dst_width, src_width;
  OpFn full, masked;
};

template <class C, class DstRegister, class SrcRegister>
constexpr ConversionRow conversion_row() {
  return {8 * sizeof(DstRegister), 8 * sizeof(SrcRegister), &run_conversion<C, DstRegister, SrcRegister>,
          &restore_inactive<DstRegister>};
}

// The registers that may hold a T: all at least as wide, but PTX wants exact ones where bf16 is involved, and
// .b8 registers are kept 16 bits wide.
template <class... R>
struct Registers {};

template <class T, bool kExact>
constexpr auto registers_for() {
  if constexpr (sizeof(Stored<T>) == 8) {
    return Registers<uint64_t>{};
  } else if constexpr (sizeof(Stored<T>) == 4) {
    return std::conditional_t<kExact, Registers<uint32_t>, Registers<uint32_t, uint64_t>>{};
  } else {
    return std::conditional_t<kExact, Registers<uint16_t>, Registers<uint16_t, uint32_t, uint64_t>>{};
  }
}

template <class C, class... Dst, class... Src>
constexpr auto conversion_rows(Registers<Dst...>, Registers<Src...>) {
  std::array<ConversionRow, sizeof...(Dst) * sizeof...(Src)> rows{};
  size_t count = 0;
  const auto add_into = [&]<class DstRegister>() {
    ((rows[count++] = conversion_row<C, DstRegister, Src>()), ...);
  };
  (add_into.template operator()<Dst>(), ...);
  return rows;
}

// The parts of a name between "cvt" and the types.
using Modifiers = std::initializer_list<const char*>;

// The name is "cvt", the modifiers and the two types; the widths are the types' own.
void add_conversion_rows(FormTable& t, Modifiers modifiers, std::string_view dst_type,
                         std::string_view src_type, int dst_type_width, int src_type_width,
                         std::span<const ConversionRow> rows);

template <class C>
void add_conversion(FormTable& t, Modifiers modifiers) {
  using D = typename C::D;
  using S = typename C::S;
  constexpr bool kExact = std::is_same_v<D, Bfloat> || std::is_same_v<S, Bfloat>;
  static constexpr auto kRows = conversion_rows<C>(registers_for<D, kExact>(), registers_for<S, kExact>());
  add_conversion_rows(t, modifiers, kTypeName<D>, kTypeName<S>, 8 * sizeof(Stored<D>), 8 * sizeof(Stored<S>),
                      kRows);
}

}  // namespace vgpu::ops
