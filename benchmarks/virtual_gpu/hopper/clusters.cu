// Clusters: by attribute and by the kernel's own dimensions, their barrier, loads, stores and atomics in
// other blocks' shared memory, remote arrivals, st.async, and bulk copies between blocks and to several of
// them.
#include <cooperative_groups.h>

#include "../programs/check.cuh"
#include "cluster.cuh"

namespace cg = cooperative_groups;
using namespace hopper;

constexpr int kThreads = 64, kBlocks = 4;

__global__ void __cluster_dims__(kBlocks, 1, 1) neighbours(const int* in, int* out) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ int values[kThreads];
  __shared__ int sum;
  const int rank = cluster.block_rank(), at = blockIdx.x * kThreads + threadIdx.x;
  values[threadIdx.x] = in[at];
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  const int* next = cluster.map_shared_rank(values, (rank + 1) % kBlocks);
  int* first = cluster.map_shared_rank(&sum, 0);
  const int value = next[kThreads - 1 - threadIdx.x];
  atomicAdd(first, value);
  cluster.sync();
  out[at] = value + *first * (rank + 1);
  cluster.sync();
}

// Ranks and sizes as special registers say them.
__global__ void registers(uint32_t* out) {
  if (threadIdx.x != 0) return;
  const uint32_t block = blockIdx.x + gridDim.x * blockIdx.y;
  uint32_t v[6];
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[0]));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[1]));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[2]));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[3]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[4]));
  asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[5]));
  for (int i = 0; i < 6; ++i) out[block * 6 + i] = v[i];
}

// Each block sends its tile to the next one; the receiver's barrier counts the bytes.
__global__ void __cluster_dims__(kBlocks, 1, 1) send(const int* in, int* out) {
  __shared__ __align__(128) int mine[kThreads], theirs[kThreads];
  __shared__ __align__(16) int words[4];
  __shared__ uint64_t barrier, word_barrier;
  cg::cluster_group cluster = cg::this_cluster();
  const int rank = cluster.block_rank(), next = (rank + 1) % kBlocks,
            at = blockIdx.x * kThreads + threadIdx.x;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    barrier_init(&word_barrier, 2);
    fence_barrier_init();
    arrive_expect(&barrier, sizeof mine);
    arrive_expect(&word_barrier, sizeof words);
  }
  mine[threadIdx.x] = in[at] * 3;
  fence_async();
  cluster.sync();
  if (threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            in_block(theirs, next)),
        "r"(shared_address(mine)), "r"(static_cast<uint32_t>(sizeof mine)), "r"(in_block(&barrier, next))
        : "memory");
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
            in_block(words, next)),
        "r"(rank), "r"(rank * 10), "r"(rank * 100), "r"(7), "r"(in_block(&word_barrier, next))
        : "memory");
    asm volatile(
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(&word_barrier, next))
        : "memory");
  }
  wait(&barrier, 0);
  wait(&word_barrier, 0);
  out[at] = theirs[threadIdx.x] + words[threadIdx.x % 4];
  cluster.sync();
}

// One block's copy goes to all blocks of the cluster, at the same place, on each one's own barrier.
__global__ void __cluster_dims__(kBlocks, 1, 1) spread(const int* in, int* out) {
  __shared__ __align__(128) int tile[kThreads];
  __shared__ uint64_t barrier;
  cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    arrive_expect(&barrier, sizeof tile);
  }
  cluster.sync();
  if (cluster.block_rank() == 1 && threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
        "%2, [%3], %4;" ::"r"(shared_address(tile)),
        "l"(in), "r"(static_cast<uint32_t>(sizeof tile)), "r"(shared_address(&barrier)),
        "h"(static_cast<uint16_t>((1 << kBlocks) - 1))
        : "memory");
  wait(&barrier, 0);
  out[blockIdx.x * kThreads + threadIdx.x] = tile[threadIdx.x] + static_cast<int>(blockIdx.x);
  cluster.sync();
}

int main() {
  Report report("clusters");
  Random random(71);
  const int clusters = 3, blocks = clusters * kBlocks, count = blocks * kThreads;
  std::vector<int> values(count), want(count);
  for (int& value : values) value = random.below(1000);
  DeviceBuffer<int> in(values), out(count);
  neighbours<<<blocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int c = 0; c < clusters; ++c) {
    int sum = 0;
    for (int i = 0; i < kBlocks * kThreads; ++i) sum += values[c * kBlocks * kThreads + i];
    for (int b = 0; b < kBlocks; ++b)
      for (int t = 0; t < kThreads; ++t) {
        const int next = (c * kBlocks + (b + 1) % kBlocks) * kThreads;
        want[(c * kBlocks + b) * kThreads + t] = values[next + kThreads - 1 - t] + sum * (b + 1);
      }
  }
  report.equal("neighbours", out.download(), want);

  DeviceBuffer<uint32_t> seen(8 * 4 * 6);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8, 4);
  config.blockDim = dim3(32);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 2, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_OK(cudaLaunchKernelEx(&config, registers, seen.get()));
  LAUNCHED_OK();
  std::vector<uint32_t> want_seen;
  for (uint32_t y = 0; y < 4; ++y)
    for (uint32_t x = 0; x < 8; ++x)
      for (const uint32_t v : {x % 4 + 4 * (y % 2), 8u, y % 2, x / 4, 2u, 4u}) want_seen.push_back(v);
  report.equal("registers", seen.download(), want_seen);

  send<<<blocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < kThreads; ++t) {
      const int before = b / kBlocks * kBlocks + (b + kBlocks - 1) % kBlocks, rank = before % kBlocks;
      const int words[4] = {rank, rank * 10, rank * 100, 7};
      want[b * kThreads + t] = values[before * kThreads + t] * 3 + words[t % 4];
    }
  report.equal("send", out.download(), want);

  spread<<<blocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < kThreads; ++t) want[b * kThreads + t] = values[t] + b;
  report.equal("spread", out.download(), want);
  return report.finish();
}
