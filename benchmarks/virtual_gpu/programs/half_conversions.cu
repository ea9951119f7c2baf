// Half from float, double and integers and back, scalar in the four rounding modes and packed; bit for bit.
#include "small_float_conversions.cuh"

SMALL_FLOAT_CONVERSIONS(Nearest, __half, half, __half_as_ushort, __ushort_as_half, rn)
SMALL_FLOAT_CONVERSIONS(TowardZero, __half, half, __half_as_ushort, __ushort_as_half, rz)
SMALL_FLOAT_CONVERSIONS(Upward, __half, half, __half_as_ushort, __ushort_as_half, ru)
SMALL_FLOAT_CONVERSIONS(Downward, __half, half, __half_as_ushort, __ushort_as_half, rd)

__global__ void widen_and_pack(const uint16_t* values, const float* floats, int n, float* wide,
                               uint32_t* packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  wide[i] = __half2float(__ushort_as_half(values[i]));
  const float2 both =
      __half22float2(__halves2half2(__ushort_as_half(values[i]), __ushort_as_half(values[n - 1 - i])));
  wide[n + i] = both.x;
  wide[2 * n + i] = both.y;
  const __half2 pair = __floats2half2_rn(floats[i], floats[n - 1 - i]);
  packed[i] =
      static_cast<uint32_t>(__half_as_ushort(__high2half(pair))) << 16 | __half_as_ushort(__low2half(pair));
  packed[n + i] = __half_as_ushort(__double2half(static_cast<double>(floats[i]) * 1.000000001));
}

void run_packed(Report& report) {
  const std::vector<uint16_t> values = small_float_inputs(kHalf, 81, 6);
  const int n = static_cast<int>(values.size());
  Random random(8);
  std::vector<float> floats = {0.0f,   -0.0f,    65504.0f,  65520.0f, 1e-7f,
                               -3e-8f, INFINITY, -INFINITY, 2049.0f,  -1e9f};
  while (static_cast<int>(floats.size()) < n) floats.push_back(random.uniform(-70000.0f, 70000.0f));
  DeviceBuffer<uint16_t> value_input(values);
  DeviceBuffer<float> float_input(floats), wide(3 * n);
  DeviceBuffer<uint32_t> packed(2 * n);
  widen_and_pack<<<blocks_for(n, 64), 64>>>(value_input.get(), float_input.get(), n, wide.get(),
                                            packed.get());
  LAUNCHED_OK();
  std::vector<float> want_wide(3 * n);
  std::vector<uint32_t> want_packed(2 * n);
  for (int i = 0; i < n; ++i) {
    want_wide[i] = want_wide[n + i] = static_cast<float>(kHalf.value(values[i]));
    want_wide[2 * n + i] = static_cast<float>(kHalf.value(values[n - 1 - i]));
    want_packed[i] = static_cast<uint32_t>(kHalf.round(floats[n - 1 - i])) << 16 | kHalf.round(floats[i]);
    volatile double scaled = static_cast<double>(floats[i]) * 1.000000001;
    want_packed[n + i] = kHalf.round(scaled);
  }
  report.equal("to_float", wide.download(), want_wide);
  report.equal("packed", packed.download(), want_packed);
}

int main() {
  Report report("half_conversions");
  run_conversions<Nearest>(report, kHalf, Rounding::nearest, "from_rn", "to_rn");
  run_conversions<TowardZero>(report, kHalf, Rounding::zero, "from_rz", "to_rz");
  run_conversions<Upward>(report, kHalf, Rounding::up, "from_ru", "to_ru");
  run_conversions<Downward>(report, kHalf, Rounding::down, "from_rd", "to_rd");
  run_packed(report);
  return report.finish();
}
