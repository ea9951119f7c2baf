// PTX type names of the C++ types the operations work on, and loops over lists of them.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "ops/form_table.h"

namespace vgpu::ops {

inline constexpr const char* kNumberNames[4][4] = {{".u8", ".u16", ".u32", ".u64"},
                                                   {".s8", ".s16", ".s32", ".s64"},
                                                   {nullptr, nullptr, ".f32", ".f64"},
                                                   {".b8", ".b16", ".b32", ".b64"}};
// ".s32" of an int32_t, and ".b32" of any type that is as wide.
template <class T>
inline constexpr const char* kDotType =
    kNumberNames[std::is_floating_point_v<T> ? 2 : std::is_signed_v<T>][std::bit_width(sizeof(T)) - 1];
template <class T>
inline constexpr const char* kDotBits = kNumberNames[3][std::bit_width(sizeof(T)) - 1];
template <class T>
inline constexpr const char* kTypeName = kDotType<T> + 1;

// "add" -> "add.s32"
template <class T, class... Part>
FormName typed(const Part&... stem) {
  return {stem..., kDotType<T>};
}

// "mov" -> "mov.b32"
template <class T, class... Part>
FormName untyped(const Part&... stem) {
  return {stem..., kDotBits<T>};
}

// Calls f.template operator()<T>() for each type.
template <class... T, class F>
void for_types(F f) {
  (f.template operator()<T>(), ...);
}

// Calls f(value) for each value of a compile-time list, with the value usable as a template argument.
template <auto... kValues, class F>
void for_values(F f) {
  (f(std::integral_constant<decltype(kValues), kValues>{}), ...);
}

template <class F>
void for_integers(F f) {
  for_types<uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(f);
}

template <class F>
void for_bit_widths(F f) {
  for_types<uint16_t, uint32_t, uint64_t>(f);
}

template <class T>
using Unsigned = std::make_unsigned_t<T>;

// Twice as wide, same signedness: holds any product of two T.
template <class T, class I2, class I4, class I8>
using DoubledOf = std::conditional_t<sizeof(T) == 2, I2, std::conditional_t<sizeof(T) == 4, I4, I8>>;
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, DoubledOf<T, int32_t, int64_t, __int128>,
                                DoubledOf<T, uint32_t, uint64_t, unsigned __int128>>;

}  // namespace vgpu::ops
