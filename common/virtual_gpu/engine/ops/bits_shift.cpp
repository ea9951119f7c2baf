// Shifts. PTX clamps a count of at least the width (C++ leaves it undefined, the CPU takes it modulo).
#include "ops/bit_tools.h"
#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T>
struct ShiftLeft {
  T operator()(T a, uint32_t count) const { return shift_left<T>(a, count); }
};

// A signed T fills with its sign, so a large count leaves the sign alone.
template <class T>
struct ShiftRight {
  T operator()(T a, uint32_t count) const {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> at_most(count, kWidth<T> - 1));
    } else {
      return shift_right<T>(a, count);
    }
  }
};

inline uint64_t joined(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

template <class Mode>
struct FunnelLeft {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t count) const {
    return static_cast<uint32_t>((joined(a, b) << Mode::limit(count)) >> 32);
  }
};

template <class Mode>
struct FunnelRight {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t count) const {
    return static_cast<uint32_t>(joined(a, b) >> Mode::limit(count));
  }
};

}  // namespace

void add_shifts(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  for_bit_widths([&]<class T>() {
    t.hot<ShiftLeft<T>, T, T, uint32_t>(untyped<T>("shl"));
    t.hot<ShiftRight<T>, T, T, uint32_t>(untyped<T>("shr"));
  });
  for_integers([&]<class T>() { t.hot<ShiftRight<T>, T, T, uint32_t>(typed<T>("shr")); });

  using U = uint32_t;
  t.map<FunnelLeft<Wrap>, U, U, U, U>("shf.l.wrap.b32");
  t.map<FunnelLeft<Clamp>, U, U, U, U>("shf.l.clamp.b32");
  t.map<FunnelRight<Wrap>, U, U, U, U>("shf.r.wrap.b32");
  t.map<FunnelRight<Clamp>, U, U, U, U>("shf.r.clamp.b32");
}

}  // namespace vgpu::ops
