// Integers of 32 and 64 bits to float and double, double to float, in the four rounding modes; clamping to
// [0, 1]; bit reinterpretation between integers and floats.
#include "edges.cuh"
#include "rounding.cuh"

#define CONVERSIONS_TO_FLOATS(Mode, rm)                                       \
  struct Mode {                                                               \
    static __device__ float f32(int32_t x) { return __int2float_##rm(x); }    \
    static __device__ float f32(uint32_t x) { return __uint2float_##rm(x); }  \
    static __device__ float f32(int64_t x) { return __ll2float_##rm(x); }     \
    static __device__ float f32(uint64_t x) { return __ull2float_##rm(x); }   \
    static __device__ double f64(int64_t x) { return __ll2double_##rm(x); }   \
    static __device__ double f64(uint64_t x) { return __ull2double_##rm(x); } \
    static __device__ float f32(double x) { return __double2float_##rm(x); }  \
  };
CONVERSIONS_TO_FLOATS(Nearest, rn)
CONVERSIONS_TO_FLOATS(TowardZero, rz)
CONVERSIONS_TO_FLOATS(Upward, ru)
CONVERSIONS_TO_FLOATS(Downward, rd)

template <typename Mode>
__device__ void put_all(Column<double>& to, uint64_t x, double real) {
  to.put(Mode::f32(static_cast<int32_t>(x)));
  to.put(Mode::f32(static_cast<uint32_t>(x)));
  to.put(Mode::f32(static_cast<int64_t>(x)));
  to.put(Mode::f32(x));
  to.put(Mode::f64(static_cast<int64_t>(x)));
  to.put(Mode::f64(x));
  to.put(Mode::f32(real));
}

__global__ void convert(const uint64_t* values, const double* reals, int n, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Column<double> to{out, n, i};
  put_all<Nearest>(to, values[i], reals[i]);
  put_all<TowardZero>(to, values[i], reals[i]);
  put_all<Upward>(to, values[i], reals[i]);
  put_all<Downward>(to, values[i], reals[i]);
  to.put(__int2double_rn(static_cast<int32_t>(values[i])));
  to.put(__uint2double_rn(static_cast<uint32_t>(values[i])));
  to.put(__saturatef(static_cast<float>(reals[i])) + 0.0f);  // the sign of a clamped zero is not specified
  to.put(static_cast<float>(static_cast<int8_t>(values[i])));
  to.put(static_cast<float>(static_cast<uint16_t>(values[i])));
  to.put(__hiloint2double(__double2hiint(reals[i]), __double2loint(reals[i])));
  to.put(__uint_as_float(__float_as_uint(static_cast<float>(reals[i])) ^ 0x80000000u));
}

void reference(const std::vector<uint64_t>& values, const std::vector<double>& reals,
               std::vector<double>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n; ++i) {
    Column<double> to{out.data(), n, i};
    volatile uint64_t x = values[i];
    volatile double real = reals[i];
    for (Rounding rounding : kRoundings) {
      volatile float f[5];
      volatile double d[2];
      {
        HostRounding scope(rounding);
        f[0] = static_cast<float>(static_cast<int32_t>(x));
        f[1] = static_cast<float>(static_cast<uint32_t>(x));
        f[2] = static_cast<float>(static_cast<int64_t>(x));
        f[3] = static_cast<float>(x);
        f[4] = static_cast<float>(real);
        d[0] = static_cast<double>(static_cast<int64_t>(x));
        d[1] = static_cast<double>(x);
      }
      for (int k = 0; k < 4; ++k) to.put(f[k]);
      to.put(d[0]);
      to.put(d[1]);
      to.put(f[4]);
    }
    const float single = static_cast<float>(real);
    to.put(static_cast<int32_t>(x));
    to.put(static_cast<uint32_t>(x));
    to.put(!(single > 0) ? 0.0f : single > 1 ? 1.0f : single);  // NaN becomes 0
    to.put(static_cast<int8_t>(x));
    to.put(static_cast<uint16_t>(x));
    to.put(real);
    to.put(-single);
  }
}

int main() {
  Report report("int_to_float");
  std::vector<uint64_t> values = edge_values_u64(60);
  for (uint64_t odd : {16777217ull, 16777219ull, 33554431ull, 9007199254740993ull, 9007199254740995ull}) {
    values.push_back(odd);
    values.push_back(0 - odd);
  }
  std::vector<double> reals = edge_values_f64(0);
  for (double near_float : {0x1.0000010p0, 0x1.0000030p0, 0x1.fffffefp127, 0x1.ffffffp127, -0x1.ffffffp127,
                            0x1p-150, -0x1p-150, 0x1.8p-149, 0x1.fffffffp-127, 0.1, -0.7, 1e300}) {
    reals.push_back(near_float);
  }
  Random random(7);
  while (reals.size() < values.size())
    reals.push_back(random.uniform(-4.0f, 4.0f) + 1e-9 * random.below(1000));
  const int n = static_cast<int>(values.size());
  DeviceBuffer<uint64_t> input(values);
  DeviceBuffer<double> real_input(reals), output(35 * n);
  convert<<<blocks_for(n, 64), 64>>>(input.get(), real_input.get(), n, output.get());
  LAUNCHED_OK();
  std::vector<double> want(output.count());
  reference(values, reals, want);
  report.equal("conversions", output.download(), want);
  return report.finish();
}
