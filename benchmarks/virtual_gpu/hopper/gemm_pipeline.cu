// A matrix product as servers compute it: a producer warp brings tiles by tensor maps into a ring of stages,
// and a warpgroup multiplies them by wgmma. Whole numbers, so that the sums are exact.
#include <cuda_fp16.h>

#include "tensor.cuh"
#include "wgmma.cuh"

using namespace hopper;

constexpr int kM = 128, kN = 128, kK = 320;
constexpr int kTileM = 64, kTileN = 64, kTileK = 64, kStages = 2;
constexpr uint32_t kTileBytes = (kTileM + kTileN) * kTileK * 2;

__global__ void __launch_bounds__(256, 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  __shared__ __align__(1024) __half a_tile[kStages][kTileM * kTileK];
  __shared__ __align__(1024) __half b_tile[kStages][kTileN * kTileK];
  __shared__ uint64_t full[kStages], empty[kStages];
  const int row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 4);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) {
      for (int i = 0; i < kK / kTileK; ++i) {
        const int s = i % kStages;
        if (i >= kStages) wait(&empty[s], (i / kStages - 1) & 1);
        arrive_expect(&full[s], kTileBytes);
        load_box_2d(a_tile[s], &a, i * kTileK, row, &full[s]);
        load_box_2d(b_tile[s], &b, i * kTileK, column, &full[s]);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  uint32_t d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  for (int i = 0; i < kK / kTileK; ++i) {
    const int s = i % kStages;
    wait(&full[s], (i / kStages) & 1);
    products_fence();
    for (int k = 0; k < kTileK / 16; ++k)
      WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, descriptor(a_tile[s] + k * 16, 16, 1024, 1),
                 descriptor(b_tile[s] + k * 16, 16, 1024, 1), 1);
    products_commit();
    products_wait();
    if (threadIdx.x % 32 == 0) arrive(&empty[s]);
  }
  const int lane = threadIdx.x % 32, at = row + threadIdx.x / 32 * 16 + lane / 4;
  for (int i = 0; i < 32; ++i)
    c[(at + 8 * (i / 2 % 2)) * kN + column + i / 4 * 8 + lane % 4 * 2 + i % 2] = __uint_as_float(d[i]);
}

int main() {
  Report report("gemm_pipeline");
  Random random(61);
  std::vector<__half> a(kM * kK), b(kN * kK);
  std::vector<float> want(kM * kN);
  for (__half& value : a) value = __float2half(static_cast<float>(random.below(9) - 4));
  for (__half& value : b) value = __float2half(static_cast<float>(random.below(9) - 4));
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j)
      for (int k = 0; k < kK; ++k)
        want[i * kN + j] += __half2float(a[i * kK + k]) * __half2float(b[j * kK + k]);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> c(kM * kN);
  const CUtensorMap map_a = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, device_a.get(), {kK, kM}, {kK * 2},
                                       {kTileK, kTileM}, CU_TENSOR_MAP_SWIZZLE_128B);
  const CUtensorMap map_b = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, device_b.get(), {kK, kN}, {kK * 2},
                                       {kTileK, kTileN}, CU_TENSOR_MAP_SWIZZLE_128B);
  gemm<<<dim3(kN / kTileN, kM / kTileM), 256>>>(map_a, map_b, c.get());
  LAUNCHED_OK();
  report.equal("product", c.download(), want);
  return report.finish();
}
