// Block-wide barriers with a count, an all and an any; __syncthreads around a shared exchange.
#include "check.cuh"

constexpr int kThreads = 128, kBlocks = 3;

__global__ void barriers(const int* in, int* counts, int* ands, int* ors, int* exchanged) {
  __shared__ int tile[kThreads];
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int x = in[i];
  counts[i] = __syncthreads_count(x % 3 == 0);
  ands[i] = __syncthreads_and(x > -900) != 0;
  ors[i] = __syncthreads_or(x > 990) != 0;
  tile[threadIdx.x] = x;
  __syncthreads();
  int sum = 0;
  for (int round = 1; round < 5; ++round) {
    sum += tile[(threadIdx.x * 5 + round) % kThreads];
    __syncthreads();  // all have read before any writes
    tile[threadIdx.x] = sum ^ round;
    __syncthreads();
  }
  exchanged[i] = tile[kThreads - 1 - threadIdx.x];
}

int main() {
  Report report("block_barriers");
  constexpr int kAll = kThreads * kBlocks;
  Random random(15);
  std::vector<int> in(kAll), counts(kAll), ands(kAll), ors(kAll), exchanged(kAll);
  for (int& value : in) value = random.below(2000) - 1000;
  for (int i = 0; i < kThreads; ++i) in[i] = random.below(800);  // the first block answers otherwise
  for (int block = 0; block < kBlocks; ++block) {
    std::vector<int> tile(in.begin() + block * kThreads, in.begin() + (block + 1) * kThreads),
        sums(kThreads, 0);
    int count = 0, all = 1, any = 0;
    for (int x : tile) {
      count += x % 3 == 0;
      all &= x > -900;
      any |= x > 990;
    }
    for (int round = 1; round < 5; ++round) {
      for (int t = 0; t < kThreads; ++t) sums[t] += tile[(t * 5 + round) % kThreads];
      for (int t = 0; t < kThreads; ++t) tile[t] = sums[t] ^ round;
    }
    for (int t = 0; t < kThreads; ++t) {
      const int i = block * kThreads + t;
      counts[i] = count;
      ands[i] = all;
      ors[i] = any;
      exchanged[i] = tile[kThreads - 1 - t];
    }
  }
  DeviceBuffer<int> input(in), count_out(kAll), and_out(kAll), or_out(kAll), exchange_out(kAll);
  barriers<<<kBlocks, kThreads>>>(input.get(), count_out.get(), and_out.get(), or_out.get(),
                                  exchange_out.get());
  LAUNCHED_OK();
  report.equal("counts", count_out.download(), counts);
  report.equal("ands", and_out.download(), ands);
  report.equal("ors", or_out.download(), ors);
  report.equal("exchanged", exchange_out.download(), exchanged);
  return report.finish();
}
