// How conversions read their source: as a value of a type the CPU computes with.
#pragma once

#include "ops/convert_rows.h"

namespace vgpu::ops {

// f16 and bf16 become floats, everything else is what its bits say.
template <class S>
inline auto value_of(Stored<S> bits) {
  if constexpr (kIsHalfFormat<S>) {
    return to_float(S{}, bits);
  } else {
    return std::bit_cast<S>(bits);
  }
}

// The same for a register: f16 has vector instructions of its own. `In` is Stored<S>.
template <class S, class In, class Out>
inline void values_of(const In* in, Out* out) {
  if constexpr (kIsHalfFormat<S>) {
    widen<kLanes>(S{}, in, out);
  } else {
    for (int i = 0; i < kLanes; ++i) out[i] = std::bit_cast<S>(in[i]);
  }
}

template <class S>
using Value = decltype(value_of<S>(Stored<S>{}));

}  // namespace vgpu::ops
