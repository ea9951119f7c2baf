// cooperative_groups::memcpy_async by warps and by a block: two copies in flight, waited for one by one.
// also for: 80
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>

#include "../programs/check.cuh"

namespace cg = cooperative_groups;
constexpr int kThreads = 128, kWarps = kThreads / 32, kRow = 64, kRounds = 6;

// Each warp walks over its own rows, and brings the next one while it adds up this one.
__global__ void rows_by_warp(const int* in, int* out) {
  __shared__ alignas(16) int tile[kWarps][2][kRow];
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int (*mine)[kRow] = tile[warp.meta_group_rank()];
  const int* rows = in + warp.meta_group_rank() * kRounds * kRow;
  cg::memcpy_async(warp, mine[0], rows, sizeof mine[0]);
  int sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round + 1 < kRounds) {
      cg::memcpy_async(warp, mine[(round + 1) & 1], rows + (round + 1) * kRow, sizeof mine[0]);
      cg::wait_prior<1>(warp);
    } else {
      cg::wait(warp);
    }
    sum = sum * 3 + mine[round & 1][warp.thread_rank()] + mine[round & 1][kRow - 1 - warp.thread_rank()];
    warp.sync();
  }
  out[threadIdx.x] = sum;
}

// Source and destination of different lengths: the shorter one counts.
__global__ void shorter_counts(const int* in, int* out) {
  __shared__ alignas(16) int tile[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  tile[threadIdx.x] = -1;
  block.sync();
  cg::memcpy_async(block, tile, sizeof tile / sizeof(int), in, sizeof tile / sizeof(int) - 16);
  cg::wait(block);
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

int main() {
  Report report("group_copies");
  Random random(84);
  std::vector<int> values(kWarps * kRounds * kRow), want(kThreads);
  for (int& value : values) value = random.below(1000);
  DeviceBuffer<int> in(values), out(kThreads);
  rows_by_warp<<<1, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int t = 0; t < kThreads; ++t)
    for (int round = 0; round < kRounds; ++round) {
      const int* row = &values[(t / 32 * kRounds + round) * kRow];
      want[t] = want[t] * 3 + row[t % 32] + row[kRow - 1 - t % 32];
    }
  report.equal("rows_by_warp", out.download(), want);
  shorter_counts<<<1, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int t = 0; t < kThreads; ++t) want[t] = t < 16 ? -1 : values[kThreads - 1 - t];
  report.equal("shorter_counts", out.download(), want);
  return report.finish();
}
