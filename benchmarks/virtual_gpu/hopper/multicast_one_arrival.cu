// Two blocks of a cluster share the tiles of B. As in CUTLASS, one thread of a warpgroup for each block
// arrives at that block's barrier, straight behind the wait for the products of all four warps.
#include "cluster.cuh"
#include "matrices.cuh"
#include "tensor.cuh"
#include "tiles.cuh"

using namespace hopper;

constexpr int kM = 128, kN = 64, kK = 320, kStages = 2, kBlocks = 2;

__global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(256, 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
  __shared__ __align__(1024) __half a_tile[kStages][64 * kTileDepth], b_tile[kStages][kN * kTileDepth];
  __shared__ uint64_t full[kStages], empty[kStages];
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], kBlocks);  // one thread of the consumers of each block
    }
    fence_barrier_init();
  }
  cluster_sync();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int i = 0; i < kK / kTileDepth; ++i) {
        const int s = i % kStages;
        if (i >= kStages) wait_in_cluster(&empty[s], (i / kStages - 1) & 1);
        arrive_expect(&full[s], sizeof a_tile[s] + sizeof b_tile[s]);
        load_box_2d(a_tile[s], &a, i * kTileDepth, blockIdx.x * 64, &full[s]);
        // 32 rows of 128 bytes: the half begins at a multiple of 1024 bytes.
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
                shared_address(b_tile[s] + rank * 32 * kTileDepth)),
            "l"(&b), "r"(i * kTileDepth), "r"(rank * 32), "r"(shared_address(&full[s])),
            "h"(static_cast<uint16_t>(3))
            : "memory");
      }
    }
  } else {
    uint32_t d[kN / 2];
    for (int i = 0; i < kK / kTileDepth; ++i) {
      const int s = i % kStages;
      wait_in_cluster(&full[s], i / kStages & 1);
      products_fence();
      for (int step = 0; step < kTileDepth / 16; ++step)
        WGMMA_32_S("m64n64k16.f32.f16.f16", ", 1, 1, 0, 0", d, tile_descriptor(a_tile[s], step),
                   tile_descriptor(b_tile[s], step), i + step > 0);
      products_commit();
      products_wait();
      const int block = threadIdx.x / 48;  // threads of two warps
      if (threadIdx.x % 48 == 0 && block < kBlocks) arrive_in_cluster(in_block(&empty[s], block));
    }
    store_result(d, c + blockIdx.x * 64 * kN, kN);
  }
  __syncwarp();
  cluster_sync();  // no block ends while the other one may still write or arrive there
}

int main() {
  Report report("multicast_one_arrival");
  Random random(132);
  const std::vector<__half> a = whole_numbers<__half>(random, kM * kK, -4, 4);
  const std::vector<__half> b = whole_numbers<__half>(random, kN * kK, -4, 4);
  DeviceBuffer<__half> device_a(a), device_b(b);
  DeviceBuffer<float> c(kM * kN);
  const CUtensorMap map_a = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, device_a.get(), {kK, kM}, {kK * 2},
                                       {kTileDepth, 64}, CU_TENSOR_MAP_SWIZZLE_128B);
  const CUtensorMap map_b = tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT16, device_b.get(), {kK, kN}, {kK * 2},
                                       {kTileDepth, kN / 2}, CU_TENSOR_MAP_SWIZZLE_128B);
  gemm<<<kBlocks, 256>>>(map_a, map_b, c.get());
  LAUNCHED_OK();
  report.equal("product", c.download(), product_of(a, b, kM, kN, kK));
  return report.finish();
}
