// Bfloat16 from float and integers and back, scalar in the four rounding modes and packed; bit for bit.
// also for: 80
#include "small_float_conversions.cuh"

SMALL_FLOAT_CONVERSIONS(Nearest, __nv_bfloat16, bfloat16, __bfloat16_as_ushort, __ushort_as_bfloat16, rn)
SMALL_FLOAT_CONVERSIONS(TowardZero, __nv_bfloat16, bfloat16, __bfloat16_as_ushort, __ushort_as_bfloat16, rz)
SMALL_FLOAT_CONVERSIONS(Upward, __nv_bfloat16, bfloat16, __bfloat16_as_ushort, __ushort_as_bfloat16, ru)
SMALL_FLOAT_CONVERSIONS(Downward, __nv_bfloat16, bfloat16, __bfloat16_as_ushort, __ushort_as_bfloat16, rd)

__global__ void widen_and_pack(const uint16_t* values, const float* floats, int n, float* wide,
                               uint32_t* packed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  wide[i] = __bfloat162float(__ushort_as_bfloat16(values[i]));
  const __nv_bfloat162 pair = __floats2bfloat162_rn(floats[i], floats[n - 1 - i]);
  packed[i] = static_cast<uint32_t>(__bfloat16_as_ushort(__high2bfloat16(pair))) << 16 |
              __bfloat16_as_ushort(__low2bfloat16(pair));
}

void run_packed(Report& report) {
  const std::vector<uint16_t> values = small_float_inputs(kBfloat16, 81, 6);
  const int n = static_cast<int>(values.size());
  Random random(8);
  std::vector<float> floats = {0.0f,    -0.0f,    0x1.fep127f, 0x1.ffp127f, 1e-40f,
                               -1e-45f, INFINITY, -INFINITY,   257.0f};
  while (static_cast<int>(floats.size()) < n) floats.push_back(random.uniform(-1000.0f, 1000.0f));
  DeviceBuffer<uint16_t> value_input(values);
  DeviceBuffer<float> float_input(floats), wide(n);
  DeviceBuffer<uint32_t> packed(n);
  widen_and_pack<<<blocks_for(n, 64), 64>>>(value_input.get(), float_input.get(), n, wide.get(),
                                            packed.get());
  LAUNCHED_OK();
  std::vector<float> want_wide(n);
  std::vector<uint32_t> want_packed(n);
  for (int i = 0; i < n; ++i) {
    want_wide[i] = static_cast<float>(kBfloat16.value(values[i]));
    want_packed[i] =
        static_cast<uint32_t>(kBfloat16.round(floats[n - 1 - i])) << 16 | kBfloat16.round(floats[i]);
  }
  report.equal("to_float", wide.download(), want_wide);
  report.equal("packed", packed.download(), want_packed);
}

int main() {
  Report report("bf16_conversions");
  run_conversions<Nearest>(report, kBfloat16, Rounding::nearest, "from_rn", "to_rn");
  run_conversions<TowardZero>(report, kBfloat16, Rounding::zero, "from_rz", "to_rz");
  run_conversions<Upward>(report, kBfloat16, Rounding::up, "from_ru", "to_ru");
  run_conversions<Downward>(report, kBfloat16, Rounding::down, "from_rd", "to_rd");
  run_packed(report);
  return report.finish();
}
