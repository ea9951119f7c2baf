// barrier.cluster in two halves: threads arrive, compute what needs no other block, and wait only then.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kBlocks = 4, kThreads = 64, kSteps = 5;

// Each block takes the value of the next one at every step; between arrival and wait it works on its own.
__global__ void __cluster_dims__(kBlocks, 1, 1) pass_on(const int* in, int* out) {
  __shared__ int values[2][kThreads];
  const int rank = cluster_rank(), t = threadIdx.x, at = blockIdx.x * kThreads + t;
  int value = in[at], own = 0;
  for (int step = 0; step < kSteps; ++step) {
    values[step & 1][t] = value;
    cluster_arrive();
    own = own * 3 + value;
    cluster_wait();
    asm volatile("ld.shared::cluster.s32 %0, [%1];"
                 : "=r"(value)
                 : "r"(in_block(&values[step & 1][t], (rank + 1) % kBlocks))
                 : "memory");
  }
  out[at] = own * 5 + value;
  cluster_sync();  // nobody leaves while its values are read
}

int main() {
  Report report("cluster_split_barrier");
  Random random(94);
  const int clusters = 2, blocks = clusters * kBlocks, count = blocks * kThreads;
  std::vector<int> values(count), want(count), own(count, 0);
  for (int& value : values) value = random.below(1000);
  DeviceBuffer<int> in(values), out(count);
  pass_on<<<blocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  std::vector<int> now = values, next(count);
  for (int step = 0; step < kSteps; ++step) {
    for (int i = 0; i < count; ++i) {
      const int b = i / kThreads, after = b / kBlocks * kBlocks + (b + 1) % kBlocks;
      own[i] = own[i] * 3 + now[i];
      next[i] = now[after * kThreads + i % kThreads];
    }
    now = next;
  }
  for (int i = 0; i < count; ++i) want[i] = own[i] * 5 + now[i];
  report.equal("pass_on", out.download(), want);
  return report.finish();
}
