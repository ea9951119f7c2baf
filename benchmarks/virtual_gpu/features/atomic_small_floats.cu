// Sums of small whole numbers in f16 pairs, bf16 pairs, f32 and f64 are exact in any order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../programs/check.cuh"

__global__ void sum(__half2* halves, __nv_bfloat162* brains, float* single, double* twice) {
  const int i = threadIdx.x;
  atomicAdd(&halves[i % 4], __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(&brains[i % 4], __floats2bfloat162_rn(1.0f, -1.0f));
  atomicAdd(single, static_cast<float>(i));
  atomicAdd(twice, static_cast<double>(i) * 0.5);
}

int main() {
  Report report("atomic_small_floats");
  DeviceBuffer<uint32_t> halves(4), brains(4);
  DeviceBuffer<float> single(1);
  DeviceBuffer<double> twice(1);
  halves.fill_bytes(0);
  brains.fill_bytes(0);
  single.fill_bytes(0);
  twice.fill_bytes(0);
  sum<<<1, 128>>>(reinterpret_cast<__half2*>(halves.get()), reinterpret_cast<__nv_bfloat162*>(brains.get()),
                  single.get(), twice.get());
  LAUNCHED_OK();
  report.equal("halves", halves.download(), std::vector<uint32_t>(4, 0x54005000u));  // 64 and 32
  report.equal("brains", brains.download(), std::vector<uint32_t>(4, 0xc2004200u));  // -32 and 32
  report.equal("single", single.download(), {8128.0f});
  report.equal("twice", twice.download(), {4064.0});
  return report.finish();
}
