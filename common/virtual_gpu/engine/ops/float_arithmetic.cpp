// f32 and f64 arithmetic rounded to nearest even, which is the CPU's mode and PTX's default.
#include "ops/builders.h"
#include "ops/float_core.h"
#include "ops/float_tools.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <class T>
constexpr InstrClass kClass = sizeof(T) == 4 ? InstrClass::kFloat32 : InstrClass::kFloat64;

// add, sub, mul: the rounding may be left out.
template <class Core, class T, bool kFtz, bool kSat>
void add_sum(FormTable& t, std::string_view op, std::string_view modifiers) {
  for (const char* rounding : {"", ".rn"}) {
    t.hot<Arithmetic<Core, kFtz, kSat>, T, T, T>(typed<T>(op, rounding, modifiers));
  }
}

template <class T, bool kFtz, bool kSat>
void add_sums(FormTable& t, std::string_view modifiers) {
  t.count_as(kClass<T>);
  add_sum<FloatAdd, T, kFtz, kSat>(t, "add", modifiers);
  add_sum<FloatSub, T, kFtz, kSat>(t, "sub", modifiers);
  add_sum<FloatMul, T, kFtz, kSat>(t, "mul", modifiers);
  for (const char* op : {"fma.rn", "mad.rn"}) {
    t.hot<Arithmetic<FloatFma, kFtz, kSat>, T, T, T, T>(typed<T>(op, modifiers));
  }
}

template <class T, bool kFtz>
void add_quotients(FormTable& t, std::string_view modifiers) {
  t.count_as(kClass<T>);
  t.map<Arithmetic<FloatDiv, kFtz, false>, T, T, T>(typed<T>("div.rn", modifiers));
  t.count_as(InstrClass::kSpecialFunction);
  t.map<Arithmetic<FloatReciprocal, kFtz, false>, T, T>(typed<T>("rcp.rn", modifiers));
  t.map<Arithmetic<FloatSqrt, kFtz, false>, T, T>(typed<T>("sqrt.rn", modifiers));
}

}  // namespace

void add_float_arithmetic(FormTable& t) {
  add_sums<float, false, false>(t, "");
  add_sums<float, false, true>(t, ".sat");
  add_sums<float, true, false>(t, ".ftz");
  add_sums<float, true, true>(t, ".ftz.sat");
  add_sums<double, false, false>(t, "");
  add_quotients<float, false>(t, "");
  add_quotients<float, true>(t, ".ftz");
  add_quotients<double, false>(t, "");
}

}  // namespace vgpu::ops
