// Tensor copies to all blocks of a cluster, reductions into another block's shared memory, and red.async.
#include <cooperative_groups.h>

#include "cluster.cuh"
#include "tensor.cuh"

namespace cg = cooperative_groups;
using namespace hopper;

constexpr int kBlocks = 2, kThreads = 64;

// Each block brings half of the box, and both get all of it.
__global__ void __cluster_dims__(kBlocks, 1, 1) share(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ __align__(1024) int tile[2][8 * 32];
  __shared__ uint64_t barrier;
  cg::cluster_group cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    arrive_expect(&barrier, sizeof tile);
  }
  cluster.sync();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(tile[rank])),
        "l"(&map), "r"(0), "r"(rank * 8), "r"(shared_address(&barrier)), "h"(static_cast<uint16_t>(3))
        : "memory");
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < 2 * 8 * 32; i += kThreads)
    out[(blockIdx.x * 2 * 8 * 32) + i] = tile[i / 256][((i % 256 * 4) ^ (i % 256 * 4 >> 3 & 0x70)) / 4];
  cluster.sync();
}

// Every block adds its values to those of block 0.
__global__ void __cluster_dims__(kBlocks, 1, 1) add_up(const uint32_t* in, uint32_t* out) {
  __shared__ __align__(128) uint32_t mine[kThreads], sum[kThreads];
  __shared__ uint32_t count;
  __shared__ uint64_t barrier;
  cg::cluster_group cluster = cg::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  mine[threadIdx.x] = in[blockIdx.x * kThreads + threadIdx.x];
  sum[threadIdx.x] = 1000;
  if (threadIdx.x == 0) {
    count = 5;
    barrier_init(&barrier, 1);
    fence_barrier_init();
    if (rank == 0) arrive_expect(&barrier, kBlocks * (sizeof mine + sizeof count));
  }
  fence_async();
  cluster.sync();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], [%1], "
        "%2, [%3];" ::"r"(in_block(sum, 0)),
        "r"(shared_address(mine)), "r"(static_cast<uint32_t>(sizeof mine)), "r"(in_block(&barrier, 0))
        : "memory");
    asm volatile(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::
            "r"(in_block(&count, 0)),
        "r"(rank + 10), "r"(in_block(&barrier, 0))
        : "memory");
  }
  if (rank == 0) {
    wait(&barrier, 0);
    out[blockIdx.x / kBlocks * (kThreads + 1) + threadIdx.x] = sum[threadIdx.x];
    if (threadIdx.x == 0) out[blockIdx.x / kBlocks * (kThreads + 1) + kThreads] = count;
  }
  cluster.sync();
}

int main() {
  Report report("cluster_copies");
  Random random(72);
  std::vector<int> values(32 * 16);
  for (int& value : values) value = random.below(100000);
  DeviceBuffer<int> in(values), out(kBlocks * 512);
  const CUtensorMap map = tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, in.get(), {32, 16}, {128}, {32, 8},
                                     CU_TENSOR_MAP_SWIZZLE_128B);
  share<<<kBlocks, kThreads>>>(map, out.get());
  LAUNCHED_OK();
  std::vector<int> want(values);
  want.insert(want.end(), values.begin(), values.end());
  report.equal("share", out.download(), want);

  const int clusters = 3;
  std::vector<uint32_t> parts(clusters * kBlocks * kThreads), sums;
  for (uint32_t& part : parts) part = static_cast<uint32_t>(random.below(1000));
  DeviceBuffer<uint32_t> device_parts(parts), device_sums(clusters * (kThreads + 1));
  add_up<<<clusters * kBlocks, kThreads>>>(device_parts.get(), device_sums.get());
  LAUNCHED_OK();
  for (int c = 0; c < clusters; ++c) {
    for (int t = 0; t < kThreads; ++t)
      sums.push_back(1000 + parts[c * 2 * kThreads + t] + parts[(c * 2 + 1) * kThreads + t]);
    sums.push_back(5 + 10 + 11);
  }
  report.equal("add_up", device_sums.download(), sums);
  return report.finish();
}
