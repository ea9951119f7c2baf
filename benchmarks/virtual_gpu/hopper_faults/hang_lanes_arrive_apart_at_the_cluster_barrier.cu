// Half of a warp's lanes arrive at the cluster's barrier in one branch, the others in another: an H200 then
// waits for ever.
// hangs
#include "fault.cuh"

__global__ void __cluster_dims__(2, 1, 1) kernel(const int* in, int* out) {
  for (int k = threadIdx.x; k < kTile; k += blockDim.x) {
    const int at = blockIdx.x * kTile + k;
    out[at] = 2 * in[at];
  }
#ifdef FIXED
  asm volatile("barrier.cluster.arrive;" ::: "memory");
#else
  if (threadIdx.x % 2 == 0) {
    asm volatile("barrier.cluster.arrive;" ::: "memory");  // expect: sync
  } else {
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");  // expect: sync
  }
#endif
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

int main() {
  return run_tiles(kernel, 2, 64, 2);
}
