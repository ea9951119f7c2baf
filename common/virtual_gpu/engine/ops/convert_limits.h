// What a conversion does to a value besides rounding it.
#pragma once

#include "ops/convert_rounding.h"

namespace vgpu::ops {

enum class Limit { kNone, kSaturate, kRelu, kFinite, kReluFinite };

template <Limit kLimit, class T>
inline T limited(T x) {
  if constexpr (kLimit == Limit::kSaturate) return saturate(x);
  if constexpr (kLimit == Limit::kRelu || kLimit == Limit::kReluFinite) {
    return std::bit_cast<T>(pick<Bits<T>>(x <= T{0}, 0, bits_of(x)));  // NaN passes
  }
  return x;
}

template <Limit kLimit, class Format>
inline uint16_t finite(uint16_t bits) {
  if constexpr (kLimit == Limit::kFinite || kLimit == Limit::kReluFinite) {
    const bool infinite = (bits & 0x7fff) == Format::kInfinity;
    return static_cast<uint16_t>(bits - infinite);  // the largest value is infinity's neighbour
  }
  return bits;
}

// A register of f32 values, limited already, to f16 or bf16.
template <Round kRound, Limit kLimit, class Format>
inline void to_halves(Format format, const float* values, uint16_t* out) {
  if constexpr (kRound == Round::kNearest) {
    narrow<kLanes>(format, values, out);
  } else {
    for (int i = 0; i < kLanes; ++i) out[i] = rounded_half<kRound>(format, values[i]);
  }
  for (int i = 0; i < kLanes; ++i) out[i] = finite<kLimit, Format>(out[i]);
}

}  // namespace vgpu::ops
