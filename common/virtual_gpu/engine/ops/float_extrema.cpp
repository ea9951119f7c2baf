// min and max of f32 and f64.
#include "ops/builders.h"
#include "ops/extrema.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class Core, bool kFtz>
struct Flushed {
  template <class T>
  T operator()(T a, T b) const {
    return Core{}(operand<kFtz>(a), operand<kFtz>(b));
  }
};

}  // namespace

void add_float_extrema(FormTable& t) {
  for_values<false, true>([&](auto max) {
    const char* const op = max ? "max" : "min";
    t.count_as(InstrClass::kFloat32);
    for_values<false, true>([&](auto ftz) {
      for_values<false, true>([&](auto nan) {
        for_values<false, true>([&](auto xorsign) {
          t.hot<Flushed<Extremum<max, nan, xorsign>, ftz>, float, float, float>(
              {op, ftz ? ".ftz" : "", nan ? ".NaN" : "", xorsign ? ".xorsign.abs" : "", ".f32"});
        });
      });
    });
    t.count_as(InstrClass::kFloat64);
    t.hot<Extremum<max, false, false>, double, double, double>({op, ".f64"});
  });
}

}  // namespace vgpu::ops
