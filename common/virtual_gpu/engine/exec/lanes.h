// The shape of an ALU operation: the same scalar function over 32 lanes. The loops have a fixed count
// and no calls, so that the compiler turns them into vector code on any target; no intrinsics here.
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

// Fn is a stateless functor type: D operator()(A[, B[, C]]) const.
template <bool kFull, class Fn, class D, class A>
void unary(Warp& w, const Op& op) {
  const A* a = lanes_in<A>(w, op.src[0]);
  write_lanes<kFull, D>(w, op.dst, [&](int i) { return static_cast<D>(Fn{}(a[i])); });
}

template <bool kFull, class Fn, class D, class A, class B>
void binary(Warp& w, const Op& op) {
  const A* a = lanes_in<A>(w, op.src[0]);
  const B* b = lanes_in<B>(w, op.src[1]);
  write_lanes<kFull, D>(w, op.dst, [&](int i) { return static_cast<D>(Fn{}(a[i], b[i])); });
}

template <bool kFull, class Fn, class D, class A, class B, class C>
void ternary(Warp& w, const Op& op) {
  const A* a = lanes_in<A>(w, op.src[0]);
  const B* b = lanes_in<B>(w, op.src[1]);
  const C* c = lanes_in<C>(w, op.src[2]);
  write_lanes<kFull, D>(w, op.dst, [&](int i) { return static_cast<D>(Fn{}(a[i], b[i], c[i])); });
}

// A comparison of two lane arrays, as a lane mask over all 32 lanes (the caller applies the exec mask).
template <class Fn, class A>
inline Mask compare_lanes(const A* a, const A* b) {
  Mask m = 0;
  for (int i = 0; i < kLanes; ++i) m |= static_cast<Mask>(Fn{}(a[i], b[i])) << i;
  return m;
}

// A predicate destination keeps the bits of lanes that are off.
inline void write_predicate(Warp& w, uint32_t dst, Mask value) {
  Mask& p = predicate(w, dst);
  p = (p & ~w.exec) | (value & w.exec);
}

}  // namespace vgpu
