// Integer sums, differences, extrema and magnitudes. All sums wrap unless the form says .sat.

#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T>
struct Add {
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
  }
};

template <class T>
struct Sub {
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
};

template <class T>
struct Min {
  T operator()(T a, T b) const { return a < b ? a : b; }
};

template <class T>
struct Max {
  T operator()(T a, T b) const { return a > b ? a : b; }
};

template <class T>
struct Negate {
  T operator()(T a) const { return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a)); }
};

// The most negative value has no positive counterpart and stays.
template <class T>
struct Magnitude {
  T operator()(T a) const { return a < 0 ? Negate<T>{}(a) : a; }
};

// An overflowed sum has the sign opposite to the first operand's; the limit has that operand's sign.
inline int32_t saturate(bool overflow, int32_t a, uint32_t wrapped) {
  const uint32_t limit = (static_cast<uint32_t>(a) >> 31) + 0x7fffffffu;
  return static_cast<int32_t>(overflow ? limit : wrapped);
}

struct AddSaturating {
  int32_t operator()(int32_t a, int32_t b) const {
    const uint32_t x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b), sum = x + y;
    return saturate(static_cast<int32_t>(~(x ^ y) & (x ^ sum)) < 0, a, sum);
  }
};

struct SubSaturating {
  int32_t operator()(int32_t a, int32_t b) const {
    const uint32_t x = static_cast<uint32_t>(a), y = static_cast<uint32_t>(b), difference = x - y;
    return saturate(static_cast<int32_t>((x ^ y) & (x ^ difference)) < 0, a, difference);
  }
};

template <template <class> class Extremum>
struct ClampedAtZero {
  int32_t operator()(int32_t a, int32_t b) const { return Max<int32_t>{}(Extremum<int32_t>{}(a, b), 0); }
};

template <class T>
struct SumOfAbsoluteDifference {
  T operator()(T a, T b, T c) const {
    const T difference = a < b ? Sub<T>{}(b, a) : Sub<T>{}(a, b);
    return Add<T>{}(c, difference);
  }
};

}  // namespace

void add_integer_arithmetic(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  for_integers([&]<class T>() {
    t.hot<Add<T>, T, T, T>(typed<T>("add"));
    t.hot<Sub<T>, T, T, T>(typed<T>("sub"));
    t.hot<Min<T>, T, T, T>(typed<T>("min"));
    t.hot<Max<T>, T, T, T>(typed<T>("max"));
    t.map<SumOfAbsoluteDifference<T>, T, T, T, T>(typed<T>("sad"));
  });
  for_types<int16_t, int32_t, int64_t>([&]<class T>() {
    t.hot<Negate<T>, T, T>(typed<T>("neg"));
    t.hot<Magnitude<T>, T, T>(typed<T>("abs"));
  });
  t.map<AddSaturating, int32_t, int32_t, int32_t>("add.sat.s32");
  t.map<SubSaturating, int32_t, int32_t, int32_t>("sub.sat.s32");
  t.map<ClampedAtZero<Min>, int32_t, int32_t, int32_t>("min.relu.s32");
  t.map<ClampedAtZero<Max>, int32_t, int32_t, int32_t>("max.relu.s32");
}

}  // namespace vgpu::ops
