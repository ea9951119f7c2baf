// The fast hardware functions, each against double precision under NVIDIA's documented error bound.
#include "check.cuh"

constexpr int kCount = 512;

__global__ void functions(const float* any, const float* positive, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  const float x = any[i], p = positive[i];
  Column<float> to{out, kCount, i};
  to.put(__expf(x));
  to.put(__exp10f(x));
  to.put(exp2f(x));
  to.put(rsqrtf(p));
  to.put(__fdividef(x, p));
  to.put(__logf(p));
  to.put(__log2f(p));
  to.put(__log10f(p));
  to.put(__sinf(x * 0.3f));
  to.put(__cosf(x * 0.3f));
  to.put(__powf(p, x * 0.25f));
  to.put(__tanf(x * 0.1f));
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  to.put(y);
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(p));
  to.put(y);
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(p));
  to.put(y);
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  to.put(y);
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(p));
  to.put(y);
  asm("div.approx.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(p));
  to.put(y);
}

struct Function {
  const char* name;
  double (*exact)(double x, double p);
  double relative, absolute;
};

constexpr double kUlp = 0x1p-23;

// In the order of the kernel. Logarithms near 1 and sines near 0 have absolute bounds only.
const Function kFunctions[] = {
    {"__expf", [](double x, double) { return std::exp(x); }, 16 * kUlp, 0},
    {"__exp10f", [](double x, double) { return std::pow(10.0, x); }, 40 * kUlp, 0},
    {"exp2f", [](double x, double) { return std::exp2(x); }, 2.5 * kUlp, 0},
    {"rsqrtf", [](double, double p) { return 1 / std::sqrt(p); }, 2.5 * kUlp, 0},
    {"__fdividef", [](double x, double p) { return x / p; }, 2.5 * kUlp, 0},
    {"__logf", [](double, double p) { return std::log(p); }, 3.5 * kUlp, 0x1p-21},
    {"__log2f", [](double, double p) { return std::log2(p); }, 2.5 * kUlp, 0x1p-21},
    {"__log10f", [](double, double p) { return std::log10(p); }, 3.5 * kUlp, 0x1p-22},
    {"__sinf", [](double x, double) { return std::sin(double{static_cast<float>(x) * 0.3f}); }, 0, 0x1p-20},
    {"__cosf", [](double x, double) { return std::cos(double{static_cast<float>(x) * 0.3f}); }, 0, 0x1p-20},
    {"__powf", [](double x, double p) { return std::pow(p, static_cast<float>(x) * 0.25f); }, 64 * kUlp, 0},
    {"__tanf", [](double x, double) { return std::tan(double{static_cast<float>(x) * 0.1f}); }, 16 * kUlp,
     0x1p-19},
    {"tanh.approx", [](double x, double) { return std::tanh(x); }, 0x1p-10, 0},
    {"rcp.approx", [](double, double p) { return 1 / p; }, 1.5 * kUlp, 0},
    {"sqrt.approx", [](double, double p) { return std::sqrt(p); }, 2 * kUlp, 0},
    {"ex2.approx", [](double x, double) { return std::exp2(x); }, 2.5 * kUlp, 0},
    {"rsqrt.approx", [](double, double p) { return 1 / std::sqrt(p); }, 2.5 * kUlp, 0},
    {"div.approx", [](double x, double p) { return x / p; }, 2.5 * kUlp, 0},
};
constexpr int kFunctionCount = sizeof kFunctions / sizeof kFunctions[0];

int main() {
  Report report("math_approximate");
  Random random(21);
  std::vector<float> any(kCount), positive(kCount);
  for (int i = 0; i < kCount; ++i) {
    any[i] = random.uniform(-10.0f, 10.0f);
    positive[i] = random.uniform(0.01f, 30.0f);
  }
  DeviceBuffer<float> any_input(any), positive_input(positive), output(kFunctionCount * kCount);
  functions<<<blocks_for(kCount, 128), 128>>>(any_input.get(), positive_input.get(), output.get());
  LAUNCHED_OK();
  const std::vector<float> got = output.download();
  for (int f = 0; f < kFunctionCount; ++f) {
    std::vector<double> want(kCount);
    for (int i = 0; i < kCount; ++i) want[i] = kFunctions[f].exact(any[i], positive[i]);
    report.near(kFunctions[f].name,
                std::vector<float>(got.begin() + f * kCount, got.begin() + (f + 1) * kCount), want,
                kFunctions[f].relative, kFunctions[f].absolute);
  }
  return report.finish();
}
