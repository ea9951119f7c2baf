// Producer and consumer warps over two buffers with named barriers: bar.sync and bar.arrive with an id and a
// thread count, and a barrier of one half of the block that the other half knows nothing of.
#include "check.cuh"

constexpr int kWarps = 2, kGroup = kWarps * 32, kThreads = 2 * kGroup, kTiles = 9;
enum : int { kFull = 1, kEmpty = 3, kConsumers = 5 };  // full and empty take an id per buffer

__device__ void sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ void arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__global__ void pipeline(const int* in, int* out) {
  __shared__ int buffers[2][kGroup];
  __shared__ int folded[kGroup];
  const int t = threadIdx.x % kGroup;
  if (threadIdx.x < kGroup) {
    for (int tile = 0; tile < kTiles; ++tile) {
      const int buffer = tile % 2;
      if (tile >= 2) sync(kEmpty + buffer, kThreads);  // consumers have let go of it
      buffers[buffer][t] = in[tile * kGroup + t] * (tile + 1);
      arrive(kFull + buffer, kThreads);
    }
  } else {
    for (int tile = 0; tile < kTiles; ++tile) {
      const int buffer = tile % 2;
      sync(kFull + buffer, kThreads);
      const int value = buffers[buffer][kGroup - 1 - t];
      if (tile + 2 < kTiles) arrive(kEmpty + buffer, kThreads);
      folded[t] = value;
      sync(kConsumers, kGroup);
      out[tile * kGroup + t] = folded[(t + 13) % kGroup] - folded[t];
      sync(kConsumers, kGroup);  // before the next tile overwrites folded
    }
  }
}

// barrier.sync in its numbered form without a count, and a reduction over part of the block.
__global__ void counted(const int* in, unsigned* out) {
  const int t = threadIdx.x;
  unsigned count = 0;
  if (t < 96) {
    asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, 0; bar.red.popc.u32 %0, 7, 96, p; }"
                 : "=r"(count)
                 : "r"(in[t])
                 : "memory");
  }
  asm volatile("bar.sync 2;" ::: "memory");
  out[t] = count;
}

int main() {
  Report report("named_barriers");
  Random random(16);
  std::vector<int> in(kTiles * kGroup), want(in.size());
  for (int& value : in) value = random.below(2000) - 1000;
  for (int tile = 0; tile < kTiles; ++tile) {
    const auto value = [&](int t) { return in[tile * kGroup + kGroup - 1 - t] * (tile + 1); };
    for (int t = 0; t < kGroup; ++t) want[tile * kGroup + t] = value((t + 13) % kGroup) - value(t);
  }
  DeviceBuffer<int> input(in), output(in.size());
  DeviceBuffer<unsigned> counts(kThreads);
  pipeline<<<1, kThreads>>>(input.get(), output.get());
  LAUNCHED_OK();
  report.equal("pipeline", output.download(), want);
  counted<<<1, kThreads>>>(input.get(), counts.get());
  LAUNCHED_OK();
  unsigned positive = 0;
  for (int t = 0; t < 96; ++t) positive += in[t] > 0;
  std::vector<unsigned> want_counts(kThreads, 0);
  for (int t = 0; t < 96; ++t) want_counts[t] = positive;
  report.equal("counted", counts.download(), want_counts);
  return report.finish();
}
