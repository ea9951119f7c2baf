// The accurate math library, float and double, within a few units in the last place of a double reference.
// Arguments of sine and cosine reach 1e6 so that the long argument reduction runs too.
#include "check.cuh"

constexpr int kCount = 256;

struct Inputs {
  const float *any, *positive, *large;
};

__global__ void float_functions(Inputs in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  const float x = in.any[i], p = in.positive[i], large = in.large[i];
  Column<float> to{out, kCount, i};
  to.put(expf(x));
  to.put(logf(p));
  to.put(log2f(p));
  to.put(powf(p, x));
  to.put(tanhf(x));
  to.put(erff(x * 0.25f));
  to.put(sinf(large));
  to.put(cosf(large));
  to.put(cbrtf(x));
  to.put(expm1f(x));
  to.put(log1pf(p));
  to.put(atan2f(x, p));
  to.put(hypotf(x, p));
  to.put(sinhf(x));
  to.put(exp10f(x));
  to.put(1.0f / sqrtf(p));
  to.put(fmodf(large, p));
}

__global__ void double_functions(Inputs in, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  const double x = in.any[i], p = in.positive[i], large = in.large[i];
  Column<double> to{out, kCount, i};
  to.put(exp(x));
  to.put(log(p));
  to.put(log2(p));
  to.put(pow(p, x));
  to.put(tanh(x));
  to.put(erf(x * 0.25));
  to.put(sin(large));
  to.put(cos(large));
  to.put(cbrt(x));
  to.put(expm1(x));
  to.put(log1p(p));
  to.put(atan2(x, p));
  to.put(hypot(x, p));
  to.put(sinh(x));
  to.put(exp10(x));
  to.put(rsqrt(p));
  to.put(fmod(large, p));
}

struct Function {
  const char* name;
  double (*exact)(double x, double p, double large);
  double ulps;  // a little above the CUDA guide's bound for the float version
};

const Function kFunctions[] = {
    {"exp", [](double x, double, double) { return std::exp(x); }, 3},
    {"log", [](double, double p, double) { return std::log(p); }, 3},
    {"log2", [](double, double p, double) { return std::log2(p); }, 3},
    {"pow", [](double x, double p, double) { return std::pow(p, x); }, 10},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, 4},
    {"erf", [](double x, double, double) { return std::erf(x * 0.25); }, 4},
    {"sin", [](double, double, double large) { return std::sin(large); }, 4},
    {"cos", [](double, double, double large) { return std::cos(large); }, 4},
    {"cbrt", [](double x, double, double) { return std::cbrt(x); }, 3},
    {"expm1", [](double x, double, double) { return std::expm1(x); }, 3},
    {"log1p", [](double, double p, double) { return std::log1p(p); }, 3},
    {"atan2", [](double x, double p, double) { return std::atan2(x, p); }, 5},
    {"hypot", [](double x, double p, double) { return std::hypot(x, p); }, 5},
    {"sinh", [](double x, double, double) { return std::sinh(x); }, 5},
    {"exp10", [](double x, double, double) { return std::pow(10.0, x); }, 4},
    {"rsqrt", [](double, double p, double) { return 1 / std::sqrt(p); }, 4},
    {"fmod", [](double, double p, double large) { return std::fmod(large, p); }, 0},
};
constexpr int kFunctionCount = sizeof kFunctions / sizeof kFunctions[0];

template <typename T>
void compare(Report& report, const std::vector<T>& got, const std::vector<float>& any,
             const std::vector<float>& positive, const std::vector<float>& large) {
  const double ulp = sizeof(T) == 4 ? 0x1p-23 : 0x1p-52;
  for (int f = 0; f < kFunctionCount; ++f) {
    std::vector<double> want(kCount);
    for (int i = 0; i < kCount; ++i) want[i] = kFunctions[f].exact(any[i], positive[i], large[i]);
    report.near(kFunctions[f].name, std::vector<T>(got.begin() + f * kCount, got.begin() + (f + 1) * kCount),
                want, kFunctions[f].ulps * ulp, 0);
  }
}

int main() {
  Report report("math_accurate");
  Random random(22);
  std::vector<float> any(kCount), positive(kCount), large(kCount);
  for (int i = 0; i < kCount; ++i) {
    any[i] = random.uniform(-9.0f, 9.0f);
    positive[i] = random.uniform(0.01f, 30.0f);
    large[i] = i % 4 == 0 ? random.uniform(-1e6f, 1e6f) : random.uniform(-20.0f, 20.0f);
  }
  DeviceBuffer<float> any_input(any), positive_input(positive), large_input(large),
      floats(kFunctionCount * kCount);
  DeviceBuffer<double> doubles(kFunctionCount * kCount);
  const Inputs in{any_input.get(), positive_input.get(), large_input.get()};
  float_functions<<<blocks_for(kCount, 128), 128>>>(in, floats.get());
  LAUNCHED_OK();
  double_functions<<<blocks_for(kCount, 128), 128>>>(in, doubles.get());
  LAUNCHED_OK();
  compare(report, floats.download(), any, positive, large);
  compare(report, doubles.download(), any, positive, large);
  return report.finish();
}
