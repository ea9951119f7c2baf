// A histogram whose bins are spread over the shared memory of a cluster: blocks count in each other's bins.
#include <cooperative_groups.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;

constexpr int kBlocks = 4, kThreads = 128, kBinsPerBlock = 64, kBins = kBlocks * kBinsPerBlock;

__global__ void __cluster_dims__(kBlocks, 1, 1) histogram(const int* values, int count, unsigned* bins) {
  __shared__ unsigned mine[kBinsPerBlock];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < kBinsPerBlock; i += kThreads) mine[i] = 0;
  cluster.sync();  // all bins are 0, and all blocks are there
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) {
    const int bin = values[i];
    unsigned* there = cluster.map_shared_rank(mine, bin / kBinsPerBlock);
    atomicAdd(there + bin % kBinsPerBlock, 1u);
  }
  cluster.sync();  // no block counts here any more
  const int first = cluster.block_rank() * kBinsPerBlock;
  for (int i = threadIdx.x; i < kBinsPerBlock; i += kThreads) atomicAdd(bins + first + i, mine[i]);
}

int main() {
  Report report("cluster_histogram");
  Random random(93);
  const int count = 5000;
  std::vector<int> values(count);
  std::vector<unsigned> want(kBins, 0);
  for (int& value : values) ++want[value = std::min(random.below(kBins), random.below(kBins))];
  DeviceBuffer<int> in(values);
  DeviceBuffer<unsigned> bins(std::vector<unsigned>(kBins, 0));
  histogram<<<2 * kBlocks, kThreads>>>(in.get(), count, bins.get());
  LAUNCHED_OK();
  report.equal("bins", bins.download(), want);
  return report.finish();
}
