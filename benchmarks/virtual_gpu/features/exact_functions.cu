// Functions of math.h whose results are exact: parts, neighbours, remainders, classes.
#include "../programs/check.cuh"

__host__ __device__ void parts(float x, float y, float* f, int* n) {
  int exponent = 0;
  float whole = 0;
  f[0] = frexpf(x, &exponent);
  f[1] = modff(x, &whole);
  f[2] = whole;
  f[3] = ldexpf(x, 5);
  f[4] = fmodf(x, y);
  f[5] = remainderf(x, y);
  f[6] = nextafterf(x, y);
  f[7] = copysignf(x, -y);
  f[8] = fdimf(x, y);
  f[9] = truncf(x) + floorf(y) + ceilf(x) + rintf(y);
  n[0] = exponent;
  n[1] = ilogbf(x);
  n[2] = (isfinite(x) ? 1 : 0) + (signbit(x) ? 2 : 0) + (isnan(y) ? 4 : 0);
  n[3] = static_cast<int>(lrintf(x)) + static_cast<int>(lroundf(y));
}

__global__ void all(const float* x, const float* y, float* f, int* n) {
  parts(x[threadIdx.x], y[threadIdx.x], f + 10 * threadIdx.x, n + 4 * threadIdx.x);
}

int main() {
  Report report("exact_functions");
  Random random(23);
  std::vector<float> x(96), y(96), f(960);
  std::vector<int> n(384);
  for (int i = 0; i < 96; ++i) {
    x[i] = random.uniform(-1000, 1000) * (i % 7 == 0 ? 1e-20f : 1.0f);
    y[i] = random.uniform(0.5f, 30);
    parts(x[i], y[i], &f[10 * i], &n[4 * i]);
  }
  DeviceBuffer<float> dx(x), dy(y), df(960);
  DeviceBuffer<int> dn(384);
  all<<<1, 96>>>(dx.get(), dy.get(), df.get(), dn.get());
  LAUNCHED_OK();
  report.equal("floats", df.download(), f);
  report.equal("ints", dn.download(), n);
  return report.finish();
}
