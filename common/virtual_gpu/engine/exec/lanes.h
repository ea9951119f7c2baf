// Lane arrays in the register file. Loops over them have a fixed count and no calls, so that the compiler
// turns them into vector code on any target; no intrinsics here.
#pragma once

#include "exec/op.h"
#include "exec/warp.h"

namespace vgpu {

template <class T>
inline T* lanes(Warp& w, uint32_t offset) {
  return reinterpret_cast<T*>(w.regs + offset);
}

template <class T>
inline const T* lanes_in(const Warp& w, uint32_t offset) {
  return reinterpret_cast<const T*>(w.regs + offset);
}

inline Mask& predicate(Warp& w, uint32_t offset) {
  return *reinterpret_cast<Mask*>(w.regs + offset);
}

// The lanes that an op's guard lets through.
inline Mask guard_mask(const Warp& w, const Op& op, Mask active) {
  if (op.guard == 0) return active;
  const Mask p = *reinterpret_cast<const Mask*>(w.regs + op.guard);
  return active & (op.guard_negated ? ~p : p);
}

// Writes f(i) to the destination's active lanes.
template <bool kFull, class D, class F>
inline void write_lanes(Warp& w, uint32_t dst, F f) {
  D* d = lanes<D>(w, dst);
  if constexpr (kFull) {
    for (int i = 0; i < kLanes; ++i) d[i] = f(i);
  } else {
    const Mask m = w.exec;
    for (int i = 0; i < kLanes; ++i) {
      const D r = f(i);
      d[i] = (m >> i) & 1 ? r : d[i];
    }
  }
}

// A predicate destination keeps the bits of lanes that are off.
inline void write_predicate(Warp& w, uint32_t dst, Mask value) {
  Mask& p = predicate(w, dst);
  p = (p & ~w.exec) | (value & w.exec);
}

}  // namespace vgpu
