// The neighbour of the last block of a cluster is meant to be the first one.
#include <cooperative_groups.h>

#include "fault.cuh"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ int tile[kTile];
  const int rank = static_cast<int>(cluster.block_rank());
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) tile[k] = 2 * in[rank * kTile + k];
  cluster.sync();
#ifdef FIXED
  const int next = (rank + 1) % 2;
#else
  const int next = rank + 1;
#endif
  const int* other = cluster.map_shared_rank(tile, next);
  for (int k = threadIdx.x; k < kTile; k += blockDim.x)
    out[(rank ^ 1) * kTile + k] = other[k];  // expect: memory
  cluster.sync();
}

int main() {
  return run_tiles(kernel, 2, 64, 2);
}
