// One thread of a warpgroup frees a stage for all four warps, straight behind the wait for their products, as
// CUTLASS does: a product is one of the whole warpgroup, and so is its end. Two warpgroups share the tiles of
// B; who arrives belongs to another warp in each round, and one product stays in flight.
#include "matrices.cuh"
#include "tensor.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 128, kN = 64, kK = 512, kStages = 3, kSteps = kK / kTileDepth;

__global__ void __launch_bounds__(288, 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  extern __shared__ __align__(1024) __half tiles[];
  uint64_t* const full = reinterpret_cast<uint64_t*>(tiles + kStages * 192 * kTileDepth);
  uint64_t* const empty = full + kStages;
  auto a_tile = [&](int s) { return tiles + s * 192 * kTileDepth; };
  auto b_tile = [&](int s) { return tiles + (s * 192 + 128) * kTileDepth; };
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], 2);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 256) {
    if (threadIdx.x != 256) return;
    for (int load = 0; load < kSteps; ++load) {
      const int s = load % kStages;
      wait(&empty[s], (load / kStages & 1) ^ 1);
      arrive_expect(&full[s], 192 * kTileDepth * 2);
      load_box_2d(a_tile(s), &a, load * kTileDepth, 0, &full[s]);
      load_box_2d(a_tile(s) + 64 * kTileDepth, &a, load * kTileDepth, 64, &full[s]);
      load_box_2d(b_tile(s), &b, load * kTileDepth, 0, &full[s]);
    }
    return;
  }
  const int group = threadIdx.x / 128, thread = threadIdx.x % 128;
  uint32_t d[32];
  for (int step = 0; step < kSteps; ++step) {
    const int s = step % kStages;
    wait(&full[s], step / kStages & 1);
    products_fence();
    for (int k = 0; k < kTileDepth / 16; ++k)
      WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d,
                 tile_descriptor(a_tile(s) + group * 64 * kTileDepth, k), tile_descriptor(b_tile(s), k),
                 step + k > 0);
    products_commit();
    products_wait<1>();
    // The product before this one is over, and its stage is free.
    if (step > 0 && thread == step * 37 % 128) arrive(&empty[(step - 1) % kStages]);
  }
  products_wait();
  store_result(d, c + group * 64 * kN, kN);
}

int main() {
  Report report("one_arrival");
  Random random(131);
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kK, -4, 4);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kK, -4, 4);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> c(kM * kN);
  auto map_of = [&](const DeviceBuffer<__half>& buffer, int rows) {
    return tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, buffer.get(), {kK, static_cast<cuuint64_t>(rows)},
                      {kK * 2}, {kTileDepth, 64}, CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const int bytes = kStages * (192 * kTileDepth * 2 + 2 * 8);
  CUDA_OK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  gemm<<<1, 288, bytes>>>(map_of(device_a, kM), map_of(device_b, kN), c.get());
  LAUNCHED_OK();
  report.equal("product", c.download(), product_of(a, b, kM, kN, kK));
  return report.finish();
}
