// Bulk copies from shared memory to shared memory: every block sends a piece to every block of its cluster.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kBlocks = 4, kPiece = 32, kRounds = 3, kThreads = kBlocks * kPiece;

__global__ void __cluster_dims__(kBlocks, 1, 1) exchange(const int* in, int* out) {
  __shared__ __align__(128) int sent[kBlocks][kPiece], received[kBlocks][kPiece];
  __shared__ uint64_t barrier;
  const int rank = cluster_rank(), t = threadIdx.x;
  if (t == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
  }
  cluster_sync();
  for (int round = 0; round < kRounds; ++round) {
    sent[t / kPiece][t % kPiece] = in[(blockIdx.x * kRounds + round) * kThreads + t];
    fence_async();
    __syncthreads();
    if (t == 0) {
      arrive_expect(&barrier, sizeof received);
      for (int to = 0; to < kBlocks; ++to)
        asm volatile(
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                "r"(in_block(received[rank], to)),
            "r"(shared_address(sent[to])), "r"(static_cast<uint32_t>(sizeof sent[to])),
            "r"(in_block(&barrier, to))
            : "memory");
    }
    wait_in_cluster(&barrier, round & 1);
    out[(blockIdx.x * kRounds + round) * kThreads + t] = received[t / kPiece][t % kPiece];
    cluster_sync();  // everybody has received and read: both arrays are free
  }
}

int main() {
  Report report("cluster_exchange");
  Random random(85);
  const int blocks = 2 * kBlocks, count = blocks * kRounds * kThreads;
  std::vector<int> values(count), want(count);
  for (int& value : values) value = random.below(100000);
  DeviceBuffer<int> in(values), out(count);
  exchange<<<blocks, kThreads>>>(in.get(), out.get());
  LAUNCHED_OK();
  for (int b = 0; b < blocks; ++b)
    for (int round = 0; round < kRounds; ++round)
      for (int t = 0; t < kThreads; ++t) {
        const int from = b / kBlocks * kBlocks + t / kPiece;
        want[(b * kRounds + round) * kThreads + t] =
            values[(from * kRounds + round) * kThreads + b % kBlocks * kPiece + t % kPiece];
      }
  report.equal("exchange", out.download(), want);
  return report.finish();
}
