// A block of three roles: a producer warpgroup that gives registers back and brings tiles, and two consumer
// warpgroups that take them and multiply 64 rows each.
#include "matrices.cuh"
#include "tensor.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 128, kN = 128, kK = 384, kStages = 2;

__global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  extern __shared__ __align__(1024) __half tiles[];
  __half* const a_tile = tiles;
  __half* const b_tile = tiles + kStages * kM * kTileDepth;
  uint64_t* const full = reinterpret_cast<uint64_t*>(b_tile + kStages * kN * kTileDepth);
  uint64_t* const empty = full + kStages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 2);  // one thread of each consumer
    }
    fence_barrier_init();
  }
  __syncthreads();
  const int group = threadIdx.x / 128;
  if (group == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x != 256) return;
    for (int i = 0; i < kK / kTileDepth; ++i) {
      const int s = i % kStages;
      wait(&empty[s], (i / kStages & 1) ^ 1);  // the phase before the first counts as over
      arrive_expect(&full[s], (kM + kN) * kTileDepth * 2);
      load_box_2d(a_tile + s * kM * kTileDepth, &a, i * kTileDepth, 0, &full[s]);
      load_box_2d(b_tile + s * kN * kTileDepth, &b, i * kTileDepth, blockIdx.x * kN, &full[s]);
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  uint32_t d[kN / 2];
  for (int i = 0; i < kK / kTileDepth; ++i) {
    const int s = i % kStages;
    wait(&full[s], i / kStages & 1);
    products_fence();
    for (int step = 0; step < kTileDepth / 16; ++step)
      WGMMA_64_S("m64n128k16.f32.f16.f16", ", 1, 1, 0, 0", d,
                 tile_descriptor(a_tile + (s * kM + group * 64) * kTileDepth, step),
                 tile_descriptor(b_tile + s * kN * kTileDepth, step), i + step > 0);
    products_commit();
    products_wait();
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
    if (threadIdx.x % 128 == 0) arrive(&empty[s]);
  }
  store_result(d, c + group * 64 * 2 * kN + blockIdx.x * kN, 2 * kN);
}

int main() {
  Report report("roles");
  Random random(110);
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kK, -4, 4);
  const std::vector<__half> b = whole_numbers<__half>(random, 2 * kN * kK, -4, 4);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> c(kM * 2 * kN);
  const CUtensorMap map_a = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, device_a.get(), {kK, kM}, {kK * 2},
                                       {kTileDepth, kM}, CU_TENSOR_MAP_SWIZZLE_128B);
  const CUtensorMap map_b = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, device_b.get(), {kK, 2 * kN},
                                       {kK * 2}, {kTileDepth, kN}, CU_TENSOR_MAP_SWIZZLE_128B);
  const int bytes = kStages * ((kM + kN) * kTileDepth * 2 + 2 * 8);
  CUDA_OK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm<<<2, 384, bytes>>>(map_a, map_b, c.get());
  LAUNCHED_OK();
  report.equal("product", c.download(), product_of(a, b, kM, 2 * kN, kK));
  return report.finish();
}
