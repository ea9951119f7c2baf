// Rows for cvt: one for every pair of register widths a conversion may be used with.
//
// A "converter" is a type with D and S, the types it goes to and from, and
//   static Bits<D> convert(Bits<S>)      or, where a whole register is done at once,
//   static void convert_all(const Bits<S>* in, Bits<D>* out)
// The loop over lanes is compiled once for each converter; the rows are small functions around it.
#pragma once

#include <string>
#include <type_traits>

#include "ops/form_table.h"
#include "ops/half_tools.h"
#include "ops/types.h"

namespace vgpu::ops {

template <class T>
constexpr bool kIsHalfFormat = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

template <class T>
struct StoredAs {
  using type = Bits<T>;
};
template <>
struct StoredAs<Half> {
  using type = uint16_t;
};
template <>
struct StoredAs<Bfloat> {
  using type = uint16_t;
};

// The unsigned integer that holds a value of the type.
template <class T>
using Stored = typename StoredAs<T>::type;

template <class T>
std::string dotted_type() {
  if constexpr (kIsHalfFormat<T>) {
    return T::kType;
  } else {
    return std::string(".") + kTypeName<T>;
  }
}

template <class C>
concept ConvertsAll =
    requires(const Stored<typename C::S>* in, Stored<typename C::D>* out) { C::convert_all(in, out); };

template <class C>
[[gnu::noinline]] void convert_lanes(const Stored<typename C::S>* in, Stored<typename C::D>* out) {
  if constexpr (ConvertsAll<C>) {
    C::convert_all(in, out);
  } else {
    VGPU_LANE_LOOP
    for (int i = 0; i < kLanes; ++i) out[i] = C::convert(in[i]);
  }
}

// Into another integer width: a signed value keeps its sign, all else is filled with zeros or cut.
template <class T, class From, class To>
[[gnu::noinline]] void resize_lanes(const From* in, To* out) {
  using Value =
      std::conditional_t<std::is_integral_v<T> && std::is_signed_v<T>, std::make_signed_t<From>, From>;
  VGPU_LANE_LOOP
  for (int i = 0; i < kLanes; ++i) out[i] = static_cast<To>(static_cast<Value>(in[i]));
}

template <class C, class DstRegister, class SrcRegister>
void run_conversion(Warp& w, const Op& op) {
  using Result = Stored<typename C::D>;
  using Source = Stored<typename C::S>;
  const SrcRegister* s = lanes_in<SrcRegister>(w, op.src[0]);
  DstRegister* d = lanes<DstRegister>(w, op.dst);
  Source narrow_source[kLanes];
  const Source* in = narrow_source;
  if constexpr (sizeof(Source) == sizeof(SrcRegister)) {
    in = s;
  } else {
    resize_lanes<Source, SrcRegister, Source>(s, narrow_source);
  }
  if constexpr (sizeof(Result) == sizeof(DstRegister)) {
    convert_lanes<C>(in, d);
  } else {
    Result result[kLanes];
    convert_lanes<C>(in, result);
    resize_lanes<typename C::D, Result, DstRegister>(result, d);
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

// Calls f for all registers at least as wide as T.
template <class T, class F>
void for_register_widths(F f) {
  if constexpr (sizeof(Stored<T>) <= 2) f.template operator()<uint16_t>();
  if constexpr (sizeof(Stored<T>) <= 4) f.template operator()<uint32_t>();
  f.template operator()<uint64_t>();
}

void add_conversion_rows(FormTable& t, const std::string& name, int dst_type_width, int src_type_width,
                         std::span<const ConversionRow> rows);

template <class C>
std::string conversion_name(const std::string& modifiers) {
  return "cvt" + modifiers + dotted_type<typename C::D>() + dotted_type<typename C::S>();
}

template <class C>
void add_conversion(FormTable& t, const std::string& modifiers) {
  using D = typename C::D;
  using S = typename C::S;
  std::vector<ConversionRow> rows;
  if constexpr (std::is_same_v<D, Bfloat> || std::is_same_v<S, Bfloat>) {
    // PTX wants exact registers for bf16; .b8 registers are kept 16 bits wide.
    using DstRegister = std::conditional_t<sizeof(Stored<D>) == 1, uint16_t, Stored<D>>;
    using SrcRegister = std::conditional_t<sizeof(Stored<S>) == 1, uint16_t, Stored<S>>;
    rows.push_back(conversion_row<C, DstRegister, SrcRegister>());
  } else {
    for_register_widths<D>([&]<class DstRegister>() {
      for_register_widths<S>(
          [&]<class SrcRegister>() { rows.push_back(conversion_row<C, DstRegister, SrcRegister>()); });
    });
  }
  add_conversion_rows(t, conversion_name<C>(modifiers), 8 * sizeof(Stored<D>), 8 * sizeof(Stored<S>), rows);
}

}  // namespace vgpu::ops
