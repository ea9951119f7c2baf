// The approximate functions of f32 and f64: .approx and .full.
#include "ops/approximations.h"
#include "ops/builders.h"
#include "ops/float_core.h"

namespace vgpu::ops {
namespace {

struct Exp2 {
  float operator()(float x) const { return approximate_exp2(x); }
};

struct Log2 {
  float operator()(float x) const { return approximate_log2(x); }
};

struct Sin {
  float operator()(float x) const { return approximate_sin(x); }
};

struct Cos {
  float operator()(float x) const { return approximate_cos(x); }
};

struct Tanh {
  float operator()(float x) const { return approximate_tanh(x); }
};

struct Quotient {
  float operator()(float a, float b) const { return approximate_quotient(a, b); }
};

struct ReciprocalSqrt {
  template <class T>
  T operator()(T x) const {
    return T{1} / FloatSqrt{}(x);
  }
};

// The coarse f64 forms look at the upper 32 bits of the operand and fill the upper 32 bits of the result.
template <class Core>
struct UpperHalf {
  double operator()(double x) const {
    const double coarse = upper(Core{}(upper(x)));
    return std::bit_cast<double>(pick(is_nan(x), bits_of(x), bits_of(coarse)));
  }

 private:
  static double upper(double x) { return std::bit_cast<double>(bits_of(x) & 0xffffffff00000000u); }
};

template <class Core, bool kFtz>
using Approximate = Arithmetic<Core, kFtz, false>;

template <class Core>
void add_unary(FormTable& t, std::string_view op) {
  t.map<Approximate<Core, false>, float, float>({op, ".approx.f32"});
  t.map<Approximate<Core, true>, float, float>({op, ".approx.ftz.f32"});
}

}  // namespace

void add_special_functions(FormTable& t) {
  t.count_as(InstrClass::kSpecialFunction);
  add_unary<FloatReciprocal>(t, "rcp");
  add_unary<FloatSqrt>(t, "sqrt");
  add_unary<ReciprocalSqrt>(t, "rsqrt");
  add_unary<Exp2>(t, "ex2");
  add_unary<Log2>(t, "lg2");
  add_unary<Sin>(t, "sin");
  add_unary<Cos>(t, "cos");
  t.map<Approximate<Tanh, false>, float, float>("tanh.approx.f32");

  t.map<Approximate<Quotient, false>, float, float, float>("div.approx.f32");
  t.map<Approximate<Quotient, true>, float, float, float>("div.approx.ftz.f32");
  t.map<Approximate<FloatDiv, false>, float, float, float>("div.full.f32");
  t.map<Approximate<FloatDiv, true>, float, float, float>("div.full.ftz.f32");

  t.map<Approximate<ReciprocalSqrt, false>, double, double>("rsqrt.approx.f64");
  t.map<Approximate<UpperHalf<ReciprocalSqrt>, true>, double, double>("rsqrt.approx.ftz.f64");
  t.map<Approximate<UpperHalf<FloatReciprocal>, true>, double, double>("rcp.approx.ftz.f64");
}

}  // namespace vgpu::ops
