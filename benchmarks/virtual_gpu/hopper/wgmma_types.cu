// wgmma m64n64: every element type, results of 32 bits and of f16, A from shared memory and from registers,
// negated inputs. Values are small whole numbers, so that every sum is exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "../programs/check.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 64, kKBytes = 32;

// The layout without a swizzle: pieces of 8 rows of 16 bytes, the two pieces along k 128 bytes apart.
__host__ __device__ constexpr int place(int row, int byte) {
  return row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
}

// A and B come as rows of 32 bytes along k; the result goes out as the registers of each thread.
template <class Form>
__global__ void product(const uint8_t* a, const uint8_t* b, const uint32_t* start, uint32_t* out) {
  __shared__ __align__(128) uint8_t a_tile[kM * kKBytes], b_tile[kN * kKBytes];
  for (int i = threadIdx.x; i < kM * kKBytes; i += blockDim.x) {
    a_tile[place(i / kKBytes, i % kKBytes)] = a[i];
    b_tile[place(i / kKBytes, i % kKBytes)] = b[i];
  }
  uint32_t d[Form::kRegisters], fragment[4];
  for (int i = 0; i < Form::kRegisters; ++i) d[i] = start[i * blockDim.x + threadIdx.x];
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  for (int i = 0; i < 4; ++i)
    fragment[i] = reinterpret_cast<const uint32_t*>(a)[(row + 8 * (i % 2)) * 8 + lane % 4 + 4 * (i / 2)];
  fence_async();
  __syncthreads();
  products_fence();
  Form::run(d, descriptor(a_tile, 128, 256, 0), fragment, descriptor(b_tile, 128, 256, 0));
  products_commit();
  products_wait();
  for (int i = 0; i < Form::kRegisters; ++i) out[i * blockDim.x + threadIdx.x] = d[i];
}

#define FORM(name, registers, call)                                                             \
  struct name {                                                                                 \
    static constexpr int kRegisters = registers;                                                \
    static __device__ void run(uint32_t* d, uint64_t a, const uint32_t* fragment, uint64_t b) { \
      (void)a, (void)fragment;                                                                  \
      call;                                                                                     \
    }                                                                                           \
  }
FORM(F16, 32, WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 1));
FORM(F16Fresh, 32, WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, a, b, 0));
FORM(F16Minus, 32, WGMMA_32_S("m64n64k16.f32.f16.f16", ", -1, 1, 0, 0", d, a, b, 1));
FORM(F16TwiceMinus, 32, WGMMA_32_S("m64n64k16.f32.f16.f16", ", -1, -1, 0, 0", d, a, b, 1));
FORM(F16Registers, 32, WGMMA_32_R("m64n64k16.f32.f16.f16", ", 1, 1, 0", d, fragment, b, 1));
FORM(F16Short, 16, WGMMA_16_S("m64n64k16.f16.f16.f16", ", 1, 1, 0, 0", d, a, b, 1));
FORM(F16ShortRegisters, 16, WGMMA_16_R("m64n64k16.f16.f16.f16", ", 1, -1, 0", d, fragment, b, 1));
FORM(Bf16, 32, WGMMA_32_S("m64n64k16.f32.bf16.bf16", ", 1, 1, 0, 0", d, a, b, 1));
FORM(Bf16Registers, 32, WGMMA_32_R("m64n64k16.f32.bf16.bf16", ", 1, -1, 0", d, fragment, b, 1));
FORM(Tf32, 32, WGMMA_32_S("m64n64k8.f32.tf32.tf32", ", 1, 1", d, a, b, 1));
FORM(Tf32Registers, 32, WGMMA_32_R("m64n64k8.f32.tf32.tf32", ", -1, 1", d, fragment, b, 1));
FORM(E4m3, 32, WGMMA_32_S("m64n64k32.f32.e4m3.e4m3", ", 1, 1", d, a, b, 1));
FORM(E5m2E4m3, 32, WGMMA_32_R("m64n64k32.f32.e5m2.e4m3", ", 1, 1", d, fragment, b, 1));
FORM(E4m3Short, 16, WGMMA_16_S("m64n64k32.f16.e4m3.e5m2", ", 1, 1", d, a, b, 1));
FORM(S8, 32, WGMMA_32_S("m64n64k32.s32.s8.s8", "", d, a, b, 1));
FORM(U8S8, 32, WGMMA_32_R("m64n64k32.s32.u8.s8", "", d, fragment, b, 1));
FORM(U8Saturating, 32, WGMMA_32_S("m64n64k32.satfinite.s32.u8.u8", "", d, a, b, 1));

template <class T>
void put(std::vector<uint8_t>& bytes, size_t at, T value) {
  std::memcpy(&bytes[at * sizeof(T)], &value, sizeof value);
}

template <class Form, class A, class B, class Sum>
void check(Report& report, const char* name, Random& random, double sign, bool adds, int low, int high,
           double first = 0) {
  const int k = kKBytes / sizeof(A);
  std::vector<uint8_t> a(kM * kKBytes), b(kN * kKBytes);
  std::vector<double> a_values(kM * k), b_values(kN * k);
  auto fill = [&](auto tag, std::vector<uint8_t>& bytes, std::vector<double>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = low + random.below(high - low);
      put(bytes, i, decltype(tag)(static_cast<float>(values[i])));
    }
  };
  fill(A(0.0f), a, a_values);
  fill(B(0.0f), b, b_values);
  const int per = 4 / sizeof(Sum);
  std::vector<uint32_t> start(Form::kRegisters * 128), want(Form::kRegisters * 128);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < Form::kRegisters; ++i)
      for (int e = 0; e < per; ++e) {
        const int column = per == 1 ? i / 4 * 8 + t % 4 * 2 + i % 2 : i / 2 * 8 + t % 4 * 2 + e;
        const int row = t / 32 * 16 + t % 32 / 4 + 8 * (per == 1 ? i / 2 % 2 : i % 2);
        const double old = first != 0 ? first : random.below(9) - 4;
        double sum = 0;
        for (int at = 0; at < k; ++at) sum += a_values[row * k + at] * b_values[column * k + at];
        double result = (adds ? old : 0) + sign * sum;
        if (first != 0 && result > 2147483647.0) result = 2147483647.0;
        const Sum old_sum = static_cast<Sum>(old), new_sum = static_cast<Sum>(result);
        std::memcpy(reinterpret_cast<uint8_t*>(&start[i * 128 + t]) + e * sizeof(Sum), &old_sum, sizeof(Sum));
        std::memcpy(reinterpret_cast<uint8_t*>(&want[i * 128 + t]) + e * sizeof(Sum), &new_sum, sizeof(Sum));
      }
  DeviceBuffer<uint8_t> device_a(a), device_b(b);
  DeviceBuffer<uint32_t> device_start(start), out(want.size());
  product<Form><<<1, 128>>>(device_a.get(), device_b.get(), device_start.get(), out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("wgmma_types");
  Random random(51);
  check<F16, __half, __half, float>(report, "f16", random, 1, true, -8, 9);
  check<F16Fresh, __half, __half, float>(report, "f16_fresh", random, 1, false, -8, 9);
  check<F16Minus, __half, __half, float>(report, "f16_minus", random, -1, true, -8, 9);
  check<F16TwiceMinus, __half, __half, float>(report, "f16_twice_minus", random, 1, true, -8, 9);
  check<F16Registers, __half, __half, float>(report, "f16_registers", random, 1, true, -8, 9);
  check<F16Short, __half, __half, __half>(report, "f16_short", random, 1, true, -4, 5);
  check<F16ShortRegisters, __half, __half, __half>(report, "f16_short_registers", random, -1, true, -4, 5);
  check<Bf16, __nv_bfloat16, __nv_bfloat16, float>(report, "bf16", random, 1, true, -8, 9);
  check<Bf16Registers, __nv_bfloat16, __nv_bfloat16, float>(report, "bf16_registers", random, -1, true, -8,
                                                            9);
  check<Tf32, float, float, float>(report, "tf32", random, 1, true, -8, 9);
  check<Tf32Registers, float, float, float>(report, "tf32_registers", random, -1, true, -8, 9);
  check<E4m3, __nv_fp8_e4m3, __nv_fp8_e4m3, float>(report, "e4m3", random, 1, true, -4, 5);
  check<E5m2E4m3, __nv_fp8_e5m2, __nv_fp8_e4m3, float>(report, "e5m2_e4m3", random, 1, true, -4, 5);
  check<E4m3Short, __nv_fp8_e4m3, __nv_fp8_e5m2, __half>(report, "e4m3_short", random, 1, true, -3, 4);
  check<S8, int8_t, int8_t, int>(report, "s8", random, 1, true, -100, 100);
  check<U8S8, uint8_t, int8_t, int>(report, "u8_s8", random, 1, true, 0, 100);
  check<U8Saturating, uint8_t, uint8_t, int>(report, "u8_saturating", random, 1, true, 0, 200, 2147480000.0);
  return report.finish();
}
