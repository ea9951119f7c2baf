// Clusters of one, two and three dimensions by launch attribute, and what cluster_group says about them.
#include <cooperative_groups.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;

constexpr int kThreads = 32, kFields = 12;

__global__ void describe(uint32_t* out) {
  __shared__ uint32_t mark;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) mark = cluster.block_rank() * 100;
  cluster.sync();
  const uint32_t last = cluster.num_blocks() - 1;
  uint32_t* theirs = cluster.map_shared_rank(&mark, last);
  const uint32_t block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x == 5) {
    const dim3 index = cluster.block_index(), size = cluster.dim_blocks();
    const uint32_t fields[kFields] = {cluster.block_rank(),
                                      cluster.num_blocks(),
                                      index.x,
                                      index.y,
                                      index.z,
                                      size.x,
                                      size.y,
                                      size.z,
                                      cluster.thread_rank(),
                                      cluster.num_threads(),
                                      cluster.query_shared_rank(theirs),
                                      *theirs};
    for (int i = 0; i < kFields; ++i) out[block * kFields + i] = fields[i];
  }
  cluster.sync();
}

void check(Report& report, const char* name, dim3 grid, dim3 size) {
  const uint32_t blocks = grid.x * grid.y * grid.z, count = size.x * size.y * size.z;
  DeviceBuffer<uint32_t> out(blocks * kFields);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(kThreads);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {size.x, size.y, size.z};
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_OK(cudaLaunchKernelEx(&config, describe, out.get()));
  LAUNCHED_OK();
  std::vector<uint32_t> want;
  for (uint32_t z = 0; z < grid.z; ++z)
    for (uint32_t y = 0; y < grid.y; ++y)
      for (uint32_t x = 0; x < grid.x; ++x) {
        const uint32_t rank = x % size.x + size.x * (y % size.y + size.y * (z % size.z));
        for (const uint32_t field : {rank, count, x % size.x, y % size.y, z % size.z, size.x, size.y, size.z,
                                     rank * kThreads + 5, count * kThreads, count - 1, (count - 1) * 100})
          want.push_back(field);
      }
  report.equal(name, out.download(), want);
}

int main() {
  Report report("cluster_shapes");
  check(report, "line", dim3(8), dim3(8));
  check(report, "plane", dim3(4, 8), dim3(2, 4));
  check(report, "room", dim3(4, 2, 4), dim3(2, 2, 2));
  check(report, "alone", dim3(3, 2), dim3(1, 1));
  return report.finish();
}
