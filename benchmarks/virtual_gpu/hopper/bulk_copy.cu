// cp.async.bulk: into shared memory on an mbarrier, back in bulk groups, prefetches, and a ring of stages
// with a producer warp and consumer warps.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kStages = 3, kTile = 256;  // ints
constexpr int kConsumers = 128, kThreads = kConsumers + 32;

__global__ void there_and_back(const int* in, int* out) {
  __shared__ __align__(128) int tile[kTile];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  __syncthreads();
  const int base = blockIdx.x * kTile;
  if (threadIdx.x == 0) {
    arrive_expect(&barrier, sizeof tile);
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + base),
                 "r"(static_cast<uint32_t>(sizeof tile)));
    copy_in(tile, in + base, sizeof tile / 2, &barrier);
    copy_in(tile + kTile / 2, in + base + kTile / 2, sizeof tile / 2, &barrier);
  }
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[i] = tile[i] * 2 + 1;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    copy_out(out + base, tile, sizeof tile);
    commit();
    wait_reads();
  }
}

__global__ void ring(const int* in, int tiles, long long* sums) {
  __shared__ __align__(128) int tile[kStages][kTile];
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      barrier_init(&full[s], 1);
      barrier_init(&empty[s], kConsumers / 32);
    }
    fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x == kConsumers) {
      for (int i = 0; i < tiles; ++i) {
        const int s = i % kStages;
        if (i >= kStages) wait(&empty[s], (i / kStages - 1) & 1);
        arrive_expect(&full[s], sizeof tile[s]);
        copy_in(tile[s], in + i * kTile, sizeof tile[s], &full[s]);
      }
    }
    return;
  }
  long long sum = 0;
  for (int i = 0; i < tiles; ++i) {
    const int s = i % kStages;
    wait(&full[s], (i / kStages) & 1);
    for (int k = threadIdx.x; k < kTile; k += kConsumers) sum += static_cast<long long>(tile[s][k]) * (i + 1);
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(&empty[s]);
  }
  sums[threadIdx.x] = sum;
}

// Stores in several groups: a tile is written again when the group that reads it has been waited for.
__global__ void groups(int rounds, int* out) {
  __shared__ __align__(128) int tile[2][kTile];
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x == 0) wait_reads<1>();
    __syncthreads();
    for (int i = threadIdx.x; i < kTile; i += blockDim.x) tile[r & 1][i] = r * 1000 + i;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
      copy_out(out + r * kTile, tile[r & 1], sizeof tile[0]);
      commit();
    }
  }
  if (threadIdx.x == 0) wait_writes();
}

int main() {
  Report report("bulk_copy");
  Random random(32);
  const int blocks = 4, tiles = 11;
  std::vector<int> values(tiles * kTile), want(blocks * kTile);
  for (int& value : values) value = random.below(100000);
  DeviceBuffer<int> in(values), out(blocks * kTile);
  there_and_back<<<blocks, 64>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int i = 0; i < blocks * kTile; ++i) want[i] = values[i] * 2 + 1;
  report.equal("there_and_back", out.download(), want);

  DeviceBuffer<long long> sums(kConsumers);
  ring<<<1, kThreads>>>(in.get(), tiles, sums.get());
  LAUNCHED_OK();
  std::vector<long long> want_sums(kConsumers, 0);
  for (int t = 0; t < kConsumers; ++t)
    for (int i = 0; i < tiles; ++i)
      for (int k = t; k < kTile; k += kConsumers)
        want_sums[t] += static_cast<long long>(values[i * kTile + k]) * (i + 1);
  report.equal("ring", sums.download(), want_sums);

  const int rounds = 7;
  DeviceBuffer<int> many(rounds * kTile);
  groups<<<1, 64>>>(rounds, many.get());
  LAUNCHED_OK();
  std::vector<int> want_many(rounds * kTile);
  for (int r = 0; r < rounds; ++r)
    for (int i = 0; i < kTile; ++i) want_many[r * kTile + i] = r * 1000 + i;
  report.equal("groups", many.download(), want_many);
  return report.finish();
}
