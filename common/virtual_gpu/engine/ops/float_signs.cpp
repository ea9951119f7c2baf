// Operations on the sign and the class of f32 and f64 values: neg, abs, copysign, testp.
#include "ops/builders.h"
#include "ops/float_tools.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

template <bool kFtz>
struct Negate {
  template <class T>
  T operator()(T a) const {
    return std::bit_cast<T>(bits_of(operand<kFtz>(a)) ^ FloatLayout<T>::kSign);
  }
};

template <bool kFtz>
struct Magnitude {
  template <class T>
  T operator()(T a) const {
    return std::bit_cast<T>(magnitude_bits(operand<kFtz>(a)));
  }
};

// The sign of a with the magnitude of b: PTX's order, not the C library's.
struct CopySign {
  template <class T>
  T operator()(T a, T b) const {
    return std::bit_cast<T>((bits_of(a) & FloatLayout<T>::kSign) | magnitude_bits(b));
  }
};

enum class Test { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

template <Test kTest, class T>
inline bool holds(T x) {
  using Layout = FloatLayout<T>;
  const Bits<T> m = magnitude_bits(x);
  switch (kTest) {
    case Test::kFinite:
      return m < Layout::kInfinity;
    case Test::kInfinite:
      return m == Layout::kInfinity;
    case Test::kNumber:
      return m <= Layout::kInfinity;
    case Test::kNotANumber:
      return m > Layout::kInfinity;
    case Test::kNormal:  // zero is not normal, nor is it subnormal
      return m - Layout::kSmallestNormal < Layout::kInfinity - Layout::kSmallestNormal;
    case Test::kSubnormal:
      return m - 1 < Layout::kSmallestNormal - 1;
  }
}

template <Test kTest, class T>
void test_property(Warp& w, const Op& op) {
  const Bits<T>* a = lanes_in<Bits<T>>(w, op.src[0]);
  write_predicate(w, op.dst, collect_mask<T>([&](int i) { return holds<kTest>(std::bit_cast<T>(a[i])); }));
}

template <Test kTest>
void add_test(FormTable& t, std::string_view name) {
  for_types<float, double>([&]<class T>() {
    t.add(typed<T>("testp.", name), sizeof(T) == 4 ? "p 32" : "p 64", &test_property<kTest, T>,
          &test_property<kTest, T>);
  });
}

}  // namespace

void add_float_signs(FormTable& t) {
  for_types<float, double>([&]<class T>() {
    t.count_as(sizeof(T) == 4 ? InstrClass::kFloat32 : InstrClass::kFloat64);
    t.hot<Negate<false>, T, T>(typed<T>("neg"));
    t.hot<Magnitude<false>, T, T>(typed<T>("abs"));
    t.map<CopySign, T, T, T>(typed<T>("copysign"));
  });
  t.count_as(InstrClass::kFloat32);
  t.hot<Negate<true>, float, float>("neg.ftz.f32");
  t.hot<Magnitude<true>, float, float>("abs.ftz.f32");

  t.count_as(InstrClass::kCompare);
  add_test<Test::kFinite>(t, "finite");
  add_test<Test::kInfinite>(t, "infinite");
  add_test<Test::kNumber>(t, "number");
  add_test<Test::kNotANumber>(t, "notanumber");
  add_test<Test::kNormal>(t, "normal");
  add_test<Test::kSubnormal>(t, "subnormal");
}

}  // namespace vgpu::ops
