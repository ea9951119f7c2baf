// How an operation visits its lanes.
//
// Registers hold bits, so lanes are read and written as unsigned integers and reinterpreted by the operation.
// Source and destination are either the same register or do not overlap at all; that is what makes the
// "ivdep" promise to the compiler true, and it saves an overlap test and a scalar copy of every loop.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "exec/lanes.h"

#if defined(__clang__)
#define VGPU_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define VGPU_LANE_LOOP _Pragma("GCC ivdep")
#endif

namespace vgpu::ops {

// The unsigned integer that holds a T's bits in a register.
template <class T>
using Bits = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

// Lane i's bit of a lane mask, at least as wide as the lanes it is used with: "and" with constants turns into
// vector code at every width, a shift by the lane number does not.
template <class D>
using MaskWord = std::conditional_t<sizeof(D) == 8, uint64_t, uint32_t>;

template <class Word>
constexpr auto kLaneBit = [] {
  std::array<Word, kLanes> bit{};
  for (int i = 0; i < kLanes; ++i) bit[i] = Word{1} << i;
  return bit;
}();

template <class D>
inline bool lane_is_on(Mask mask, int lane) {
  return (mask & kLaneBit<MaskWord<D>>[lane]) != 0;
}

// Writes f(lane) to the lanes that are on.
template <bool kFull, class D, class F>
inline void store_lanes(Warp& w, uint32_t dst, F f) {
  D* d = lanes<D>(w, dst);
  if constexpr (kFull) {
    VGPU_LANE_LOOP
    for (int i = 0; i < kLanes; ++i) d[i] = f(i);
  } else {
    const Mask on = w.exec;
    VGPU_LANE_LOOP
    for (int i = 0; i < kLanes; ++i) {
      const D value = f(i);
      const D before = d[i];
      d[i] = lane_is_on<D>(on, i) ? value : before;
    }
  }
}

// The same stateless scalar function over all lanes: D Fn{}(S...).
template <class Fn, class D, class... S>
struct Map {
  template <bool kFull>
  static void run(Warp& w, const Op& op) {
    visit<kFull>(w, op, std::index_sequence_for<S...>{});
  }

 private:
  template <bool kFull, size_t... I>
  static void visit(Warp& w, const Op& op, std::index_sequence<I...>) {
    apply<kFull>(w, op, lanes_in<Bits<S>>(w, op.src[I])...);
  }
  template <bool kFull>
  static void apply(Warp& w, const Op& op, const Bits<S>*... s) {
    store_lanes<kFull, Bits<D>>(w, op.dst, [&](int i) {
      const D value = Fn{}(std::bit_cast<S>(s[i])...);
      return std::bit_cast<Bits<D>>(value);
    });
  }
};

// The masked form of an operation that is too large to be compiled twice: run it on all lanes, then put the
// lanes that are off back. Op::fn[1] is the form for full warps.
template <class D>
void restore_inactive(Warp& w, const Op& op) {
  D* d = lanes<D>(w, op.dst);
  D before[kLanes];
  std::memcpy(before, d, sizeof before);
  op.fn[1](w, op);
  const Mask off = ~w.exec;
  VGPU_LANE_LOOP
  for (int i = 0; i < kLanes; ++i) {
    const D old = before[i];
    const D value = d[i];
    d[i] = lane_is_on<D>(off, i) ? old : value;
  }
}

// A lane mask from a condition f(lane) on T-wide lanes: the comparison's own vector mask picks the lane's
// bit, and one horizontal step at the end joins them.
template <class T, class F>
inline Mask collect_mask(F f) {
  MaskWord<T> mask = 0;
  for (int i = 0; i < kLanes; ++i) mask |= f(i) ? kLaneBit<MaskWord<T>>[i] : MaskWord<T>{0};
  return static_cast<Mask>(mask);
}

}  // namespace vgpu::ops
