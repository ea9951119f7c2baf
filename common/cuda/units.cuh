// Rows, copied in the widest units that their alignment allows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// A value of kBytes bytes that is loaded and stored by one instruction, at an address it divides.
template <int kBytes>
struct UnitOf;
template <>
struct UnitOf<16> {
  using Type = uint4;
};
template <>
struct UnitOf<8> {
  using Type = uint2;
};
template <>
struct UnitOf<4> {
  using Type = uint32_t;
};
template <>
struct UnitOf<2> {
  using Type = uint16_t;
};
template <>
struct UnitOf<1> {
  using Type = uint8_t;
};
template <int kBytes>
using Unit = typename UnitOf<kBytes>::Type;

inline uint64_t address_bits(const void* pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}
inline uint64_t address_bits(int64_t bytes) {
  return static_cast<uint64_t>(bytes);
}

// The widest unit that divides every address, stride and size given (in bytes): 16, 8, 4, 2 or 1.
template <typename... Values>
int widest_unit_bytes(Values... values) {
  const uint64_t bits = (address_bits(values) | ... | uint64_t{16});
  return static_cast<int>(bits & (~bits + 1));  // the lowest bit set in any of them divides all of them
}

inline int ceil_div(int value, int by) {
  return value / by + (value % by != 0);
}
