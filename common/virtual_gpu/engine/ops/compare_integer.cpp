// setp and set of integers and untyped bits.
#include "ops/builders.h"
#include "ops/compare.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T>
struct IntegerSource {
  using Lane = T;
  static constexpr const char* kModifiers = "";
  static constexpr int kCmps = static_cast<int>(Cmp::kGe) + 1;
  static constexpr bool kPacked = false, kComplement = true, kEveryday = true;

  template <Cmp kCmp, int>
  static bool holds(T a, T b) {
    return compare<kCmp>(a, b, false);
  }
};

template <class T>
void add_integer_rows(FormTable& t, std::span<const NamedCmp> cmps, std::string_view type) {
  using Source = IntegerSource<T>;
  add_setp<Source>(t, cmps, type);
  add_set<Source>(t, cmps, type, kSetInt32);
  add_set<Source>(t, cmps, type, kSetFloat);
  add_set<Source>(t, cmps, type, kSetHalf);
  add_set<Source>(t, cmps, type, kSetBfloat);
}

}  // namespace

void add_integer_comparisons(FormTable& t) {
  for_integers([&]<class T>() { add_integer_rows<T>(t, kOrders, kDotType<T>); });
  for_bit_widths([&]<class T>() {
    add_integer_rows<T>(t, kUnsignedOrders, kDotType<T>);
    add_integer_rows<T>(t, kEqualities, kDotBits<T>);
  });
}

}  // namespace vgpu::ops
