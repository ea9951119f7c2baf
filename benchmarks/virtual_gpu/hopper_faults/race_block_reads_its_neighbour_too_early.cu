// A block reads the shared memory of its neighbour in the cluster, and nothing says that it is filled.
#include <cooperative_groups.h>

#include "fault.cuh"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  __shared__ int values[kTile];
  cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();                                              // both blocks have begun
  values[threadIdx.x] = in[blockIdx.x * kTile + threadIdx.x];  // expect: race // other: race
#ifdef FIXED
  cluster.sync();
#else
  __syncthreads();
#endif
  const unsigned next = cluster.block_rank() ^ 1;
  const int value = cluster.map_shared_rank(values, next)[threadIdx.x];  // expect: race // other: race
  out[(blockIdx.x ^ 1) * kTile + threadIdx.x] = value * 2;
  cluster.sync();
}

int main() {
  return run_tiles(kernel, kTiles, kTile);
}
