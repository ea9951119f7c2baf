// f32 and f64 arithmetic rounded towards zero, down or up. The CPU's rounding mode is changed for the length
// of one operation and put back. The lanes are in memory that the compiler must assume fesetround to touch,
// so no arithmetic moves across the two calls.
#include <cfenv>

#include "ops/builders.h"
#include "ops/float_core.h"
#include "ops/float_tools.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

struct Rounding {
  const char* name;
  int mode;
};

constexpr Rounding kTowardsZero{".rz", FE_TOWARDZERO};
constexpr Rounding kDown{".rm", FE_DOWNWARD};
constexpr Rounding kUp{".rp", FE_UPWARD};

template <const Rounding& kRounding, class Fn, class D, class... S>
void run_rounded(Warp& w, const Op& op) {
  std::fesetround(kRounding.mode);
  Map<Fn, D, S...>::template run<true>(w, op);
  std::fesetround(FE_TONEAREST);
}

template <const Rounding& kRounding, class T>
struct Rows {
  FormTable& t;

  template <class Core, bool kFtz, bool kSat, class... S>
  void add(const char* op, const char* modifiers) {
    t.map_with<T, S...>(typed<T>(op, kRounding.name, modifiers),
                        &run_rounded<kRounding, Arithmetic<Core, kFtz, kSat>, T, S...>);
  }

  template <bool kFtz, bool kSat>
  void add_sums(const char* modifiers) {
    t.count_as(sizeof(T) == 4 ? InstrClass::kFloat32 : InstrClass::kFloat64);
    add<FloatAdd, kFtz, kSat, T, T>("add", modifiers);
    add<FloatSub, kFtz, kSat, T, T>("sub", modifiers);
    add<FloatMul, kFtz, kSat, T, T>("mul", modifiers);
    add<FloatFma, kFtz, kSat, T, T, T>("fma", modifiers);
    add<FloatFma, kFtz, kSat, T, T, T>("mad", modifiers);
    if constexpr (!kSat) {
      add<FloatDiv, kFtz, false, T, T>("div", modifiers);
      t.count_as(InstrClass::kSpecialFunction);
      add<FloatReciprocal, kFtz, false, T>("rcp", modifiers);
      add<FloatSqrt, kFtz, false, T>("sqrt", modifiers);
    }
  }
};

template <const Rounding& kRounding>
void add_mode(FormTable& t) {
  Rows<kRounding, float> f32{t};
  f32.template add_sums<false, false>("");
  f32.template add_sums<false, true>(".sat");
  f32.template add_sums<true, false>(".ftz");
  f32.template add_sums<true, true>(".ftz.sat");
  Rows<kRounding, double>{t}.template add_sums<false, false>("");
}

}  // namespace

void add_float_directed_rounding(FormTable& t) {
  add_mode<kTowardsZero>(t);
  add_mode<kDown>(t);
  add_mode<kUp>(t);
}

}  // namespace vgpu::ops
