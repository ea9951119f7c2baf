// A block arrives at its neighbour's barrier. Behind the init stands only a barrier of the neighbour's
// threads.
#include "../hopper/cluster.cuh"
#include "fault.cuh"

using namespace hopper;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  __shared__ int values[kTile];
  __shared__ uint64_t filled;
  cluster_sync();  // both blocks have begun
  if (cluster_rank() == 1 && threadIdx.x == 0) {
    barrier_init(&filled, kTile);  // other: sync
    fence_barrier_init();
  }
#ifdef FIXED
  cluster_sync();
#else
  __syncthreads();
#endif
  values[threadIdx.x] = 2 * in[blockIdx.x * kTile + threadIdx.x];
  if (cluster_rank() == 0) {
    arrive_in_cluster(in_block(&filled, 1));  // expect: sync
  } else {
    wait_in_cluster(&filled, 0);
    int theirs;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(theirs) : "r"(in_block(&values[threadIdx.x], 0)));
    out[(blockIdx.x - 1) * kTile + threadIdx.x] = theirs;
    out[blockIdx.x * kTile + threadIdx.x] = values[threadIdx.x];
  }
  cluster_sync();
}

int main() {
  return run_tiles(kernel, kTiles, kTile);
}
