// Approximate functions in half precision, scalar and packed, within two units in the last place.
#include <cuda_fp16.h>

#include "rounding.cuh"

constexpr int kCount = 512;

__global__ void functions(const float* any, const float* positive, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kCount) return;
  const __half x = __float2half(any[i]), p = __float2half(positive[i]);
  const __half2 pair = __halves2half2(x, p), positives = __halves2half2(p, p);
  Column<float> to{out, kCount, i};
  to.put(__half2float(hexp(x)));
  to.put(__half2float(hexp2(x)));
  to.put(__half2float(hlog(p)));
  to.put(__half2float(hsqrt(p)));
  to.put(__half2float(hrsqrt(p)));
  to.put(__half2float(hrcp(p)));
  to.put(__half2float(__hdiv(x, p)));
  to.put(__half2float(hsin(x)));
  to.put(__half2float(__high2half(h2exp2(pair))));
  to.put(__half2float(__low2half(h2sqrt(positives))));
  to.put(__half2float(__low2half(__h2div(pair, positives))));
  to.put(__half2float(hfloor(x)));
  to.put(__half2float(hrint(x)));
}

struct Function {
  const char* name;
  double (*exact)(double x, double p);
  double relative, absolute;
};

constexpr double kUlp = 0x1p-10;

const Function kFunctions[] = {
    {"hexp", [](double x, double) { return std::exp(x); }, 2 * kUlp, 0},
    {"hexp2", [](double x, double) { return std::exp2(x); }, 2 * kUlp, 0},
    {"hlog", [](double, double p) { return std::log(p); }, 2 * kUlp, 0x1p-11},
    {"hsqrt", [](double, double p) { return std::sqrt(p); }, kUlp, 0},
    {"hrsqrt", [](double, double p) { return 1 / std::sqrt(p); }, kUlp, 0},
    {"hrcp", [](double, double p) { return 1 / p; }, kUlp, 0},
    {"hdiv", [](double x, double p) { return x / p; }, kUlp, 0x1p-24},
    {"hsin", [](double x, double) { return std::sin(x); }, 2 * kUlp, 0x1p-11},
    {"h2exp2", [](double, double p) { return std::exp2(p); }, 2 * kUlp, 0},
    {"h2sqrt", [](double, double p) { return std::sqrt(p); }, kUlp, 0},
    {"h2div", [](double x, double p) { return x / p; }, kUlp, 0x1p-24},
    {"hfloor", [](double x, double) { return std::floor(x); }, 0, 0},
    {"hrint", [](double x, double) { return std::nearbyint(x); }, 0, 0},
};
constexpr int kFunctionCount = sizeof kFunctions / sizeof kFunctions[0];

int main() {
  Report report("half_math");
  Random random(23);
  std::vector<float> any(kCount), positive(kCount);
  for (int i = 0; i < kCount; ++i) {
    any[i] = static_cast<float>(kHalf.value(kHalf.round(random.uniform(-6.0f, 6.0f))));
    positive[i] = static_cast<float>(kHalf.value(kHalf.round(random.uniform(0.05f, 8.0f))));
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
