// Dot products in pairs of f16 and of bf16, with whole numbers that both hold exactly.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../programs/check.cuh"

template <class Pair>
__device__ Pair sum_of_warp(Pair value) {
  for (int step = 16; step > 0; step /= 2) value = __hadd2(value, __shfl_down_sync(~0u, value, step));
  return value;
}

__global__ void dot(const float* a, const float* b, float* out) {
  const int i = threadIdx.x;
  const __half2 half = sum_of_warp(
      __hmul2(__floats2half2_rn(a[2 * i], a[2 * i + 1]), __floats2half2_rn(b[2 * i], b[2 * i + 1])));
  const __nv_bfloat162 brain = sum_of_warp(
      __hmul2(__floats2bfloat162_rn(a[2 * i], a[2 * i + 1]), __floats2bfloat162_rn(b[2 * i], b[2 * i + 1])));
  if (i != 0) return;
  out[0] = __low2float(half) + __high2float(half);
  out[1] = __low2float(brain) + __high2float(brain);
}

int main() {
  Report report("half_dot");
  std::vector<float> a(64), b(64);
  float want = 0;
  for (int i = 0; i < 64; ++i)
    want += (a[i] = static_cast<float>(i % 3 - 1)) * (b[i] = static_cast<float>(i % 5 - 2));
  DeviceBuffer<float> da(a), db(b), output(2);
  dot<<<1, 32>>>(da.get(), db.get(), output.get());
  LAUNCHED_OK();
  report.equal("dot", output.download(), {want, want});
  return report.finish();
}
