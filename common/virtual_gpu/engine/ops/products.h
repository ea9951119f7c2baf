// The halves of an integer product.
#pragma once

#include "ops/types.h"

namespace vgpu::ops {

template <class T>
inline Wide<T> wide_product(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}

// Unsigned arithmetic of at least 32 bits: uint16_t would be promoted to int, whose product can overflow.
template <class T>
struct LowProduct {
  T operator()(T a, T b) const {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  }
};

template <class T>
struct HighProduct {
  T operator()(T a, T b) const { return static_cast<T>(wide_product(a, b) >> (8 * sizeof(T))); }
};

}  // namespace vgpu::ops
