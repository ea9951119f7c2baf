// Threads of one block arrive at the cluster's barrier, and wait for a round more than the others.
// hangs
#include <cooperative_groups.h>

#include "fault.cuh"

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint64_t barrier;
  const int rank = static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) hopper::barrier_init(&barrier, 1);
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) out[rank * kTile + k] = 2 * in[rank * kTile + k];
  cluster.sync();
#ifndef FIXED
  if (rank == 0) hopper::wait(&barrier, 0);  // expect: hang
#endif
  cluster.sync();
}

int main() {
  return run_tiles(kernel, 2, 64, 2);
}
