// Two warpgroups take turns at the matrix unit: named barriers let one multiply while the other stores.
#include "../programs/check.cuh"
#include "matrices.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 64, kN = 128, kTiles = 6, kGroups = 2;

__device__ void pass_turn_to(int group) {
  asm volatile("bar.arrive %0, 256;" ::"r"(group + 1) : "memory");
}
__device__ void take_turn(int group) {
  asm volatile("bar.sync %0, 256;" ::"r"(group + 1) : "memory");
}

__device__ void meet_in_group(int group) {
  asm volatile("bar.sync %0, 128;" ::"r"(group + 8) : "memory");
}

__global__ void __launch_bounds__(kGroups * 128, 1) multiply(const __half* a, const __half* b, float* out) {
  __shared__ __align__(1024) __half a_tile[kGroups][kM * kTileDepth], b_tile[kN * kTileDepth];
  const int group = threadIdx.x / 128, t = threadIdx.x % 128;
  fill_tile(b_tile, b, kN, kTileDepth);
  fence_async();
  __syncthreads();
  if (group == 1) pass_turn_to(0);
  for (int tile = group; tile < kTiles; tile += kGroups) {
    for (int i = t; i < kM * kTileDepth; i += 128)
      a_tile[group][swizzled(i * 2, 128) / 2] = a[tile * kM * kTileDepth + i];
    fence_async();
    meet_in_group(group);
    uint32_t d[kN / 2];
    take_turn(group);
    products_fence();
    for (int step = 0; step < kTileDepth / 16; ++step)
      WGMMA_64_S("m64n128k16.f32.f16.f16", ", 1, 1, 0, 0", d, tile_descriptor(a_tile[group], step),
                 tile_descriptor(b_tile, step), step > 0);
    products_commit();
    products_wait();
    if (tile + 1 < kTiles) pass_turn_to(1 - group);
    store_result(d, out + tile * kM * kN, kN);
    meet_in_group(group);  // all four warps are done with the tile of A
  }
}

int main() {
  Report report("wgmma_ping_pong");
  Random random(108);
  const std::vector<__half> a = whole_numbers<__half>(random, kTiles * kM * kTileDepth, -8, 8);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kTileDepth, -8, 8);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> out(kTiles * kM * kN);
  multiply<<<1, kGroups * 128>>>(device_a.get(), device_b.get(), out.get());
  LAUNCHED_OK();
  report.equal("products", out.download(), product_of(a, b, kTiles * kM, kN, kTileDepth));
  return report.finish();
}
