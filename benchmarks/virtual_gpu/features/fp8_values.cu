// Floats become 8-bit floats of both kinds and f16 again; the header's host code says what is right.
#include <cuda_fp8.h>

#include "../programs/check.cuh"

__host__ __device__ void convert(float x, uint16_t* out) {
  const __nv_fp8_storage_t a = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
  const __nv_fp8_storage_t b = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
  out[0] = a;
  out[1] = b;
  out[2] = __half_raw(__nv_cvt_fp8_to_halfraw(a, __NV_E4M3)).x;
  out[3] = __half_raw(__nv_cvt_fp8_to_halfraw(b, __NV_E5M2)).x;
}

__global__ void all(const float* in, uint16_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  convert(in[i], out + 4 * i);
}

int main() {
  Report report("fp8_values");
  Random random(58);
  std::vector<float> values(512);
  std::vector<uint16_t> want(4 * 512);
  for (int i = 0; i < 512; ++i) {
    values[i] = std::ldexp(random.uniform(-2, 2), random.below(40) - 24);
    convert(values[i], &want[4 * i]);
  }
  DeviceBuffer<float> input(values);
  DeviceBuffer<uint16_t> output(4 * 512);
  all<<<4, 128>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("values", output.download(), want);
  return report.finish();
}
