// One block copies a tile to both, and completes bytes at a barrier whose init the other has not published.
#include "../hopper/cluster.cuh"
#include "fault.cuh"

using namespace hopper;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full;
  cluster_sync();  // both blocks have begun
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);  // other: sync
    fence_barrier_init();
    arrive_expect(&full, kTileBytes);
  }
#ifdef FIXED
  cluster_sync();
#else
  __syncthreads();
#endif
  if (cluster_rank() == 0 && threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
        "%2, [%3], %4;" ::"r"(shared_address(tile)),
        "l"(in), "r"(kTileBytes), "r"(shared_address(&full)), "h"(static_cast<uint16_t>(3))  // expect: sync
        : "memory");
  wait(&full, 0);
  if (cluster_rank() == 1) out[threadIdx.x] = 2 * tile[threadIdx.x];
  cluster_sync();
}

int main() {
  return run_tiles(kernel, 2, kTile, 1);
}
