// A block puts its next values into its neighbour's shared memory while the neighbour still reads the first.
#include <cooperative_groups.h>

#include "fault.cuh"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  __shared__ int mail[kTile];
  cg::cluster_group cluster = cg::this_cluster();
  int* to = cluster.map_shared_rank(mail, cluster.block_rank() ^ 1);
  const int other = static_cast<int>(blockIdx.x ^ 1);
  cluster.sync();  // both blocks have begun
  for (int half = 0; half < 2; ++half) {
    const int at = half * kTile / 2 + static_cast<int>(threadIdx.x);
    to[threadIdx.x] = in[blockIdx.x * kTile + at];  // expect: race // other: race
    cluster.sync();
    out[other * kTile + at] = mail[threadIdx.x] * 2;  // expect: race // other: race
#ifdef FIXED
    cluster.sync();
#endif
  }
  cluster.sync();
}

int main() {
  return run_tiles(kernel, kTiles, kTile / 2);
}
