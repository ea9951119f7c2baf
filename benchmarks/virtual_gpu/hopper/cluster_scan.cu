// A prefix sum over all threads of a cluster: sums of warps, of blocks, and of the blocks before by
// distributed shared memory.
#include <cooperative_groups.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;

constexpr int kBlocks = 8, kThreads = 128, kWarps = kThreads / 32;

__global__ void __cluster_dims__(kBlocks, 1, 1) scan(const int* in, int* out) {
  __shared__ int warp_sums[kWarps], block_sum;
  cg::cluster_group cluster = cg::this_cluster();
  const int at = blockIdx.x * kThreads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int sum = in[at];
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();
  for (int i = 0; i < warp; ++i) sum += warp_sums[i];
  if (threadIdx.x == kThreads - 1) block_sum = sum;
  cluster.sync();
  for (unsigned rank = 0; rank < cluster.block_rank(); ++rank)
    sum += *cluster.map_shared_rank(&block_sum, rank);
  out[at] = sum;
  cluster.sync();  // a block stays until all have read its sum
}

int main() {
  Report report("cluster_scan");
  Random random(114);
  const int clusters = 2, per = kBlocks * kThreads, count = clusters * per;
  std::vector<int> values(count), want(count);
  for (int i = 0; i < count; ++i) {
    values[i] = random.below(1000);
    want[i] = values[i] + (i % per == 0 ? 0 : want[i - 1]);
  }
  DeviceBuffer<int> in(values), out(count);
  scan<<<clusters * kBlocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  report.equal("scan", out.download(), want);
  return report.finish();
}
