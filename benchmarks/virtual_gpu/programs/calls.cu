// Real calls: structs passed and returned by value, reference parameters, function pointers in registers and
// in a device table, with lanes of one warp calling different functions.
#include "check.cuh"

constexpr int kCount = 192;

struct Vector3 {
  float x, y, z;
};
struct Split {
  int64_t quotient;
  int32_t remainder, sign;
};

__device__ __noinline__ Vector3 cross(Vector3 a, Vector3 b) {
  // __fmul_rn and __fsub_rn are never fused: the host can repeat them exactly.
  return {__fsub_rn(__fmul_rn(a.y, b.z), __fmul_rn(a.z, b.y)),
          __fsub_rn(__fmul_rn(a.z, b.x), __fmul_rn(a.x, b.z)),
          __fsub_rn(__fmul_rn(a.x, b.y), __fmul_rn(a.y, b.x))};
}

__device__ __noinline__ Split split(int64_t value, int32_t by) {
  const int32_t sign = value < 0 ? -1 : 1;
  const int64_t magnitude = value * sign;
  return {magnitude / by, static_cast<int32_t>(magnitude % by), sign};
}

__device__ __noinline__ void accumulate(int& total, uint8_t small, int16_t medium, bool negate) {
  total += negate ? -(small + medium) : small + medium;
}

using Operation = int (*)(int, int);
__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int subtract(int a, int b) {
  return a - b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ __noinline__ int mix(int a, int b) {
  return multiply(a, 3) ^ add(b, a);
}
__device__ Operation operations[4] = {add, subtract, multiply, mix};

__global__ void by_value(const Vector3* in, Vector3* crossed, int64_t* quotients, int32_t* remainders,
                         int* totals) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  crossed[i] = cross(in[i], in[kCount - 1 - i]);
  const Split parts = split(static_cast<int64_t>(i - 90) * 1000003ll * 65537ll, i + 3);
  quotients[i] = parts.quotient * parts.sign;
  remainders[i] = parts.remainder;
  int total = i;
  for (int k = 0; k < 4; ++k)
    accumulate(total, static_cast<uint8_t>(i * 7 + k), static_cast<int16_t>(-k * i), k & 1);
  totals[i] = total;
}

__global__ void by_pointer(const int* choices, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Operation from_table = operations[choices[i] & 3];
  const Operation from_branch = i % 3 == 0 ? subtract : i % 3 == 1 ? mix : add;
  out[i] = from_table(i, 11) * 1000 + from_branch(from_table(5, i), i);
}

int host_operation(int which, int a, int b) {
  const int results[4] = {a + b, a - b, a * b, (a * 3) ^ (b + a)};
  return results[which];
}

int main() {
  Report report("calls");
  Random random(6);
  std::vector<float> vectors(3 * kCount), want_crossed(3 * kCount);
  for (float& value : vectors) value = random.uniform(-5.0f, 5.0f);
  std::vector<int64_t> want_quotients(kCount);
  std::vector<int32_t> want_remainders(kCount);
  std::vector<int> want_totals(kCount), choices(kCount), want_pointer(kCount);
  for (int i = 0; i < kCount; ++i) {
    const float *a = &vectors[3 * i], *b = &vectors[3 * (kCount - 1 - i)];
    for (int k = 0; k < 3; ++k) {
      volatile float left = a[(k + 1) % 3] * b[(k + 2) % 3], right = a[(k + 2) % 3] * b[(k + 1) % 3];
      want_crossed[3 * i + k] = left - right;
    }
    const int64_t value = static_cast<int64_t>(i - 90) * 1000003ll * 65537ll;
    want_quotients[i] = value / (i + 3);
    want_remainders[i] = static_cast<int32_t>(std::llabs(value) % (i + 3));
    want_totals[i] = i;
    for (int k = 0; k < 4; ++k)
      want_totals[i] += (k & 1 ? -1 : 1) * (static_cast<uint8_t>(i * 7 + k) - k * i);
    choices[i] = random.below(4);
    const int branch = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 0;
    want_pointer[i] = host_operation(choices[i], i, 11) * 1000 +
                      host_operation(branch, host_operation(choices[i], 5, i), i);
  }
  DeviceBuffer<float> input(vectors), crossed(3 * kCount);
  DeviceBuffer<int64_t> quotients(kCount);
  DeviceBuffer<int32_t> remainders(kCount);
  DeviceBuffer<int> totals(kCount), choice_input(choices), output(kCount);
  by_value<<<2, kCount / 2>>>(reinterpret_cast<const Vector3*>(input.get()),
                              reinterpret_cast<Vector3*>(crossed.get()), quotients.get(), remainders.get(),
                              totals.get());
  LAUNCHED_OK();
  by_pointer<<<2, kCount / 2>>>(choice_input.get(), output.get());
  LAUNCHED_OK();
  report.equal("crossed", crossed.download(), want_crossed);
  report.equal("quotients", quotients.download(), want_quotients);
  report.equal("remainders", remainders.download(), want_remainders);
  report.equal("totals", totals.download(), want_totals);
  report.equal("by_pointer", output.download(), want_pointer);
  return report.finish();
}
