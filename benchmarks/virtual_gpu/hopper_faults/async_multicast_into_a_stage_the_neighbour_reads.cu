// Each block brings half of a tile to both blocks of the cluster, when its own readers are done with the
// stage. Those of the other block may not be.
#include "../hopper/cluster.cuh"
#include "fault.cuh"

using namespace hopper;

constexpr int kHalf = kTile / 2;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full, empty;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
#ifdef FIXED
    barrier_init(&empty, 8);  // a lane of each reading warp of both blocks
#else
    barrier_init(&empty, 4);
#endif
    fence_barrier_init();
  }
  cluster_sync();
  if (threadIdx.x >= 128) {
    for (int i = 0; i < kTiles && threadIdx.x == 128; ++i) {
      if (i >= 1) wait_in_cluster(&empty, (i - 1) & 1);
      arrive_expect(&full, kTileBytes);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
          "%2, [%3], %4;" ::"r"(shared_address(tile + rank * kHalf)),
          "l"(in + i * kTile + rank * kHalf), "r"(kTileBytes / 2), "r"(shared_address(&full)),
          "h"(static_cast<uint16_t>(3))  // expect: async
          : "memory");
    }
  } else {
    for (int i = 0; i < kTiles; ++i) {
      wait_in_cluster(&full, i & 1);
      for (int k = threadIdx.x; k < kTile; k += 128)
        if (rank == 0) out[i * kTile + k] = 2 * tile[k];  // expect: async
      __syncwarp();
#ifdef FIXED
      if (threadIdx.x % 32 < 2) arrive_in_cluster(in_block(&empty, threadIdx.x % 32));
#else
      if (threadIdx.x % 32 == 0) arrive(&empty);
#endif
    }
  }
  __syncwarp();
  cluster_sync();
}

int main() {
  return run_tiles(kernel, 2, 160);
}
