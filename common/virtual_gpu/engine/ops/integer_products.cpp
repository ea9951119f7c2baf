// mul, mad, mul24 and mad24: which part of the full product is kept, and what is added to it.
#include <limits>

#include "ops/builders.h"
#include "ops/products.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T>
struct MulWide {
  Wide<T> operator()(T a, T b) const { return wide_product(a, b); }
};

template <class T>
struct MadWide {
  Wide<T> operator()(T a, T b, Wide<T> c) const {
    using U = Unsigned<Wide<T>>;
    return static_cast<Wide<T>>(static_cast<U>(wide_product(a, b)) + static_cast<U>(c));
  }
};

template <class T, class Part>
struct Mul {
  T operator()(T a, T b) const { return Part{}(a, b); }
};

template <class T, class Part>
struct Mad {
  T operator()(T a, T b, T c) const {
    return static_cast<T>(static_cast<Unsigned<T>>(Part{}(a, b)) + static_cast<Unsigned<T>>(c));
  }
};

template <class Part>
struct MadSaturating {
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    const int64_t sum = int64_t{Part{}(a, b)} + c;
    constexpr int64_t kLow = std::numeric_limits<int32_t>::min(), kHigh = std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(sum < kLow ? kLow : sum > kHigh ? kHigh : sum);
  }
};

// The low 24 bits of an operand, extended to 64 bits the way its type says.
inline int64_t low_24(int32_t a) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
}
inline uint64_t low_24(uint32_t a) {
  return a & 0xffffffu;
}

template <class T>
struct Low24 {
  T operator()(T a, T b) const { return static_cast<T>(low_24(a) * low_24(b)); }
};

// Bits 47..16 of the 48-bit product.
template <class T>
struct High24 {
  T operator()(T a, T b) const { return static_cast<T>((low_24(a) * low_24(b)) >> 16); }
};

}  // namespace

void add_integer_products(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  for_integers([&]<class T>() {
    t.hot<Mul<T, LowProduct<T>>, T, T, T>(typed<T>("mul.lo"));
    t.map<Mul<T, HighProduct<T>>, T, T, T>(typed<T>("mul.hi"));
    t.hot<Mad<T, LowProduct<T>>, T, T, T, T>(typed<T>("mad.lo"));
    t.map<Mad<T, HighProduct<T>>, T, T, T, T>(typed<T>("mad.hi"));
  });
  for_types<uint16_t, int16_t, uint32_t, int32_t>([&]<class T>() {
    t.hot<MulWide<T>, Wide<T>, T, T>(typed<T>("mul.wide"));
    t.hot<MadWide<T>, Wide<T>, T, T, Wide<T>>(typed<T>("mad.wide"));
  });
  for_types<uint32_t, int32_t>([&]<class T>() {
    t.map<Mul<T, Low24<T>>, T, T, T>(typed<T>("mul24.lo"));
    t.map<Mul<T, High24<T>>, T, T, T>(typed<T>("mul24.hi"));
    t.map<Mad<T, Low24<T>>, T, T, T, T>(typed<T>("mad24.lo"));
    t.map<Mad<T, High24<T>>, T, T, T, T>(typed<T>("mad24.hi"));
  });
  using S = int32_t;
  t.map<MadSaturating<HighProduct<S>>, S, S, S, S>("mad.hi.sat.s32");
  t.map<MadSaturating<High24<S>>, S, S, S, S>("mad24.hi.sat.s32");
}

}  // namespace vgpu::ops
