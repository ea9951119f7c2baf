// Operations on several small integers in one 32-bit register: .u16x2 and .s16x2, dot products, differences.
#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

// Element i of the packed register, extended to 32 bits the way T says.
template <class T>
inline int32_t element(uint32_t packed, int i) {
  return static_cast<T>(packed >> (8 * sizeof(T) * i));
}

struct PackedAdd {
  int32_t operator()(int32_t a, int32_t b) const { return a + b; }
};

struct PackedMin {
  int32_t operator()(int32_t a, int32_t b) const { return a < b ? a : b; }
};

struct PackedMax {
  int32_t operator()(int32_t a, int32_t b) const { return a > b ? a : b; }
};

template <class Base>
struct PackedClampedAtZero {
  int32_t operator()(int32_t a, int32_t b) const { return PackedMax{}(Base{}(a, b), 0); }
};

template <class Fn, class T>
struct BothHalves {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    const uint32_t low = static_cast<uint32_t>(Fn{}(element<T>(a, 0), element<T>(b, 0)));
    const uint32_t high = static_cast<uint32_t>(Fn{}(element<T>(a, 1), element<T>(b, 1)));
    return (low & 0xffffu) | (high << 16);
  }
};

// A and B are the element types the operands are split into: four bytes each for dp4a; two halves of a
// against the low or high two bytes of b for dp2a. Sums wrap.
template <class A, class B, int kCount, int kFirstB>
struct DotProduct {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t sum = c;
    for (int i = 0; i < kCount; ++i) {
      sum += static_cast<uint32_t>(element<A>(a, i) * element<B>(b, kFirstB + i));
    }
    return sum;
  }
};

// |a - b| of each pair of elements: their sum and c, or each in its own place.
template <class T, bool kSum>
struct Differences {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint32_t sum = c, places = 0;
    for (size_t i = 0; i < sizeof(uint32_t) / sizeof(T); ++i) {
      const int32_t x = element<T>(a, static_cast<int>(i)), y = element<T>(b, static_cast<int>(i));
      const uint32_t difference = static_cast<uint32_t>(x > y ? x - y : y - x);
      sum += difference;
      places |= difference << (8 * sizeof(T) * i);
    }
    return kSum ? sum : places;
  }
};

template <class Fn, class T>
void add_pair(FormTable& t, std::string_view op) {
  t.map<BothHalves<Fn, T>, uint32_t, uint32_t, uint32_t>({op, kDotType<T>, "x2"});
}

}  // namespace

void add_integer_packed(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  for_types<uint16_t, int16_t>([&]<class T>() {
    add_pair<PackedAdd, T>(t, "add");
    add_pair<PackedMin, T>(t, "min");
    add_pair<PackedMax, T>(t, "max");
  });
  add_pair<PackedClampedAtZero<PackedMin>, int16_t>(t, "min.relu");
  add_pair<PackedClampedAtZero<PackedMax>, int16_t>(t, "max.relu");

  using U = uint32_t;
  t.count_as(InstrClass::kDot);
  for_types<uint32_t, int32_t>([&]<class A>() {
    for_types<uint32_t, int32_t>([&]<class B>() {
      constexpr bool kSignedA = std::is_signed_v<A>, kSignedB = std::is_signed_v<B>;
      using ByteA = std::conditional_t<kSignedA, int8_t, uint8_t>;
      using HalfA = std::conditional_t<kSignedA, int16_t, uint16_t>;
      using ByteB = std::conditional_t<kSignedB, int8_t, uint8_t>;
      t.map<DotProduct<ByteA, ByteB, 4, 0>, U, U, U, U>(typed<B>("dp4a", kDotType<A>));
      t.map<DotProduct<HalfA, ByteB, 2, 0>, U, U, U, U>(typed<B>("dp2a.lo", kDotType<A>));
      t.map<DotProduct<HalfA, ByteB, 2, 2>, U, U, U, U>(typed<B>("dp2a.hi", kDotType<A>));
    });
  });

  t.count_as(InstrClass::kInteger);
  // Those that nvcc makes of __vabsdiffu4, __vsadu4 and their like. Signed ones it spells out.
  t.map<Differences<uint8_t, false>, U, U, U, U>("vabsdiff4.u32.u32.u32");
  t.map<Differences<uint8_t, true>, U, U, U, U>("vabsdiff4.u32.u32.u32.add");
  t.map<Differences<uint16_t, false>, U, U, U, U>("vabsdiff2.u32.u32.u32");
  t.map<Differences<uint16_t, true>, U, U, U, U>("vabsdiff2.u32.u32.u32.add");
}

}  // namespace vgpu::ops
