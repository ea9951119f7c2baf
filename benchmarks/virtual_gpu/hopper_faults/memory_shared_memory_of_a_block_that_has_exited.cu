// A block of a cluster ends while another one still reads its shared memory.
#include <cooperative_groups.h>

#include "fault.cuh"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ int tile[kTile];
  const int rank = static_cast<int>(cluster.block_rank());
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * in[rank * kTile + k];
  cluster.sync();
#ifndef FIXED
  if (rank == 1) return;
  __nanosleep(1000);
#endif
  const int* other = cluster.map_shared_rank(tile, rank ^ 1);
  for (int k = threadIdx.x; k < kTile; k += blockDim.x)
    out[(rank ^ 1) * kTile + k] = other[k];  // expect: memory
#ifdef FIXED
  cluster.sync();
#endif
}

int main() {
  return run_tiles(kernel, 2, 64, 2);
}
