// One block sends tile after tile into the other's shared memory, and waits only until each has left its own.
// hangs
#include "../hopper/cluster.cuh"
#include "fault.cuh"

using namespace hopper;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t full, empty;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&full, 1);
    barrier_init(&empty, 1);
    fence_barrier_init();
  }
  cluster_sync();
  for (int i = 0; i < kTiles; ++i) {
    if (rank == 0) {
      for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * in[i * kTile + k];
      fence_async();
      __syncthreads();
      if (threadIdx.x == 0) {
#ifdef FIXED
        if (i >= 1) wait_in_cluster(&empty, (i - 1) & 1);
#endif
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
            "[%3];" ::"r"(in_block(tile, 1)),
            "r"(shared_address(tile)), "r"(kTileBytes), "r"(in_block(&full, 1))  // expect: async
            : "memory");
      }
      __syncthreads();
    } else {
      if (threadIdx.x == 0) arrive_expect(&full, kTileBytes);
      wait_in_cluster(&full, i & 1);
      for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[i * kTile + k] = tile[k];  // expect: async
      __syncthreads();
#ifdef FIXED
      if (threadIdx.x == 0) arrive_in_cluster(in_block(&empty, 0));
#endif
    }
  }
  cluster_sync();
}

int main() {
  return run_tiles(kernel, 2, 128);
}
