// setp and set of f32 and f64.
#include "ops/builders.h"
#include "ops/compare.h"
#include "ops/float_tools.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T, bool kFtz>
struct FloatSource {
  using Lane = Bits<T>;
  static constexpr const char* kModifiers = kFtz ? ".ftz" : "";
  static constexpr int kCmps = std::size(kFloatCmps);
  static constexpr bool kPacked = false, kComplement = true, kEveryday = true;

  template <Cmp kCmp, int>
  static bool holds(Lane a, Lane b) {
    const T x = operand<kFtz>(std::bit_cast<T>(a)), y = operand<kFtz>(std::bit_cast<T>(b));
    return compare<kCmp>(x, y, is_nan(x) | is_nan(y));
  }
};

template <class T, bool kFtz>
void add_float_rows(FormTable& t) {
  using Source = FloatSource<T, kFtz>;
  add_setp<Source>(t, kFloatCmps, kDotType<T>);
  add_set<Source>(t, kFloatCmps, kDotType<T>, kSetInt32);
  add_set<Source>(t, kFloatCmps, kDotType<T>, kSetFloat);
  add_set<Source>(t, kFloatCmps, kDotType<T>, kSetHalf);
  if constexpr (!kFtz) add_set<Source>(t, kFloatCmps, kDotType<T>, kSetBfloat);
}

}  // namespace

void add_float_comparisons(FormTable& t) {
  add_float_rows<float, false>(t);
  add_float_rows<float, true>(t);
  add_float_rows<double, false>(t);
}

}  // namespace vgpu::ops
