// Arrivals at another block's mbarrier: with mapa, with a count, and with bytes that st.async brings.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kBlocks = 4, kThreads = 64, kRounds = 3;

// All blocks put values into block 0, which answers each of them with its sum: one phase per round each way.
__global__ void __cluster_dims__(kBlocks, 1, 1) gather(const int* in, int* out) {
  __shared__ int values[kBlocks][kThreads];
  __shared__ int answer;
  __shared__ uint64_t gathered, answered;
  const int rank = cluster_rank(), t = threadIdx.x;
  if (t == 0) {
    barrier_init(&gathered, kBlocks * 2);  // every block arrives with a count of 2
    barrier_init(&answered, 1);
    fence_barrier_init();
  }
  cluster_sync();
  const uint32_t to = in_block(&values[rank][t], 0);
  for (int round = 0; round < kRounds; ++round) {
    const int value = in[(blockIdx.x * kRounds + round) * kThreads + t];
    asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(to), "r"(value) : "memory");
    __syncthreads();
    if (t == 0)
      asm volatile(
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], 2;" ::"r"(in_block(&gathered, 0))
          : "memory");
    if (rank == 0 && t < kBlocks) {
      wait_in_cluster(&gathered, round & 1);
      int sum = 0;
      for (int i = 0; i < kThreads; ++i) sum += values[t][i];
      asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(in_block(&answer, t)), "r"(sum) : "memory");
      arrive_in_cluster(in_block(&answered, t));
    }
    wait_in_cluster(&answered, round & 1);
    out[(blockIdx.x * kRounds + round) * kThreads + t] = answer + value;
    __syncthreads();  // all have read the answer before this block gives the sign for the next one
  }
  cluster_sync();
}

// The sender announces the bytes at the receiver's barrier, and sends them.
__global__ void __cluster_dims__(2, 1, 1) announce(int* out) {
  __shared__ __align__(16) int words[4];
  __shared__ uint64_t barrier;
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  cluster_sync();
  if (threadIdx.x == 0) {
    const uint32_t there = in_block(&barrier, 1 - rank);
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], 16;" ::"r"(there)
                 : "memory");
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
            in_block(words, 1 - rank)),
        "r"(rank + 1), "r"(rank + 20), "r"(rank + 300), "r"(rank + 4000), "r"(there)
        : "memory");
  }
  wait_in_cluster(&barrier, 0);
  if (threadIdx.x < 4) out[blockIdx.x * 4 + threadIdx.x] = words[threadIdx.x];
  cluster_sync();
}

int main() {
  Report report("mbarrier_remote");
  Random random(81);
  const int blocks = 2 * kBlocks, count = blocks * kRounds * kThreads;
  std::vector<int> values(count), want(count);
  for (int& value : values) value = random.below(1000);
  DeviceBuffer<int> in(values), out(count), words(8);
  gather<<<blocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int row = 0; row < blocks * kRounds; ++row) {
    int sum = 0;
    for (int t = 0; t < kThreads; ++t) sum += values[row * kThreads + t];
    for (int t = 0; t < kThreads; ++t) want[row * kThreads + t] = sum + values[row * kThreads + t];
  }
  report.equal("gather", out.download(), want);
  announce<<<2, 32>>>(words.get());
  LAUNCHED_OK();
  report.equal("announce", words.download(), std::vector<int>{2, 21, 301, 4001, 1, 20, 300, 4000});
  return report.finish();
}
