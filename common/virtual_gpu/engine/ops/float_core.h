// The IEEE operations, in whatever rounding mode the CPU is in.
#pragma once

namespace vgpu::ops {

struct FloatAdd {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

struct FloatSub {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};

struct FloatMul {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};

struct FloatDiv {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

struct FloatFma {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
};

struct FloatReciprocal {
  template <class T>
  T operator()(T a) const {
    return T{1} / a;
  }
};

struct FloatSqrt {
  float operator()(float a) const { return __builtin_sqrtf(a); }
  double operator()(double a) const { return __builtin_sqrt(a); }
};

}  // namespace vgpu::ops
