// Shifts and masks that are defined for every count.
#pragma once

#include <cstdint>

namespace vgpu::ops {

template <class T>
constexpr uint32_t kWidth = 8 * sizeof(T);

inline uint32_t at_most(uint32_t value, uint32_t limit) {
  return value < limit ? value : limit;
}

template <class T>
inline T shift_left(T a, uint32_t count) {
  const T shifted = static_cast<T>(a << (count & (kWidth<T> - 1)));
  return count < kWidth<T> ? shifted : T{0};
}

template <class T>
inline T shift_right(T a, uint32_t count) {
  const T shifted = static_cast<T>(a >> (count & (kWidth<T> - 1)));
  return count < kWidth<T> ? shifted : T{0};
}

// The low `count` bits set.
template <class T>
inline T low_bits(uint32_t count) {
  const T bits = static_cast<T>((T{1} << (count & (kWidth<T> - 1))) - 1);
  return count < kWidth<T> ? bits : static_cast<T>(~T{0});
}

// What the .wrap and .clamp modes make of a count of 32 and more.
struct Wrap {
  static uint32_t limit(uint32_t count) { return count & 31; }
};

struct Clamp {
  static uint32_t limit(uint32_t count) { return at_most(count, 32); }
};

}  // namespace vgpu::ops
