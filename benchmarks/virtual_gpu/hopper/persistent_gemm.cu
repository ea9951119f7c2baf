// A kernel that stays: two blocks walk over all tiles of the result. The ring of stages goes on from one tile
// to the next, so that the first loads of a tile run under the end of the one before.
#include "matrices.cuh"
#include "tensor.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 192, kN = 192, kK = 192, kStages = 3;
constexpr int kTilesAcross = kN / 64, kTiles = kM / 64 * kTilesAcross, kSteps = kK / kTileDepth;

__global__ void __launch_bounds__(160, 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  extern __shared__ __align__(1024) __half tiles[];
  uint64_t* const full = reinterpret_cast<uint64_t*>(tiles + kStages * 2 * 64 * kTileDepth);
  uint64_t* const empty = full + kStages;
  auto a_tile = [&](int s) { return tiles + s * 64 * kTileDepth; };
  auto b_tile = [&](int s) { return tiles + (kStages + s) * 64 * kTileDepth; };
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 4);
    }
    fence_barrier_init();
  }
  __syncthreads();
  int load = 0;  // counts tiles of A and B; producer and consumers count alike
  if (threadIdx.x >= 128) {
    if (threadIdx.x != 128) return;
    for (int tile = blockIdx.x; tile < kTiles; tile += gridDim.x)
      for (int step = 0; step < kSteps; ++step, ++load) {
        const int s = load % kStages;
        wait(&empty[s], (load / kStages & 1) ^ 1);
        arrive_expect(&full[s], 2 * 64 * kTileDepth * 2);
        load_box_2d(a_tile(s), &a, step * kTileDepth, tile / kTilesAcross * 64, &full[s]);
        load_box_2d(b_tile(s), &b, step * kTileDepth, tile % kTilesAcross * 64, &full[s]);
      }
    return;
  }
  for (int tile = blockIdx.x; tile < kTiles; tile += gridDim.x) {
    uint32_t d[32];
    for (int step = 0; step < kSteps; ++step, ++load) {
      const int s = load % kStages;
      wait(&full[s], load / kStages & 1);
      products_fence();
      for (int k = 0; k < kTileDepth / 16; ++k)
        WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, tile_descriptor(a_tile(s), k),
                   tile_descriptor(b_tile(s), k), step + k > 0);
      products_commit();
      products_wait();
      if (threadIdx.x % 32 == 0) arrive(&empty[s]);
    }
    store_result(d, c + tile / kTilesAcross * 64 * kN + tile % kTilesAcross * 64, kN);
  }
}

int main() {
  Report report("persistent_gemm");
  Random random(117);
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kK, -4, 4);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kK, -4, 4);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> c(kM * kN);
  auto map_of = [&](const DeviceBuffer<__half>& buffer, int rows) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, buffer.get(), {kK, static_cast<cuuint64_t>(rows)},
                      {kK * 2}, {kTileDepth, 64}, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const int bytes = kStages * (2 * 64 * kTileDepth * 2 + 2 * 8);
  CUDA_OK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm<<<2, 160, bytes>>>(map_of(device_a, kM), map_of(device_b, kN), c.get());
  LAUNCHED_OK();
  report.equal("product", c.download(), product_of(a, b, kM, kN, kK));
  return report.finish();
}
