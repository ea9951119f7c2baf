// st.async and red.async: words that go to another block's shared memory and count as bytes at its barrier.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kThreads = 32;

struct Mail {
  alignas(16) uint32_t quad[4];
  uint64_t pair[2];
  uint64_t wide, wide_sum;
  uint32_t word, sum, most, least, count, bits, mask, parity;
};

#define SEND(instruction, member, ...)                                                                      \
  asm volatile(instruction::"r"(in_block(&mail.member, other)), "r"(in_block(&barrier, other)), __VA_ARGS__ \
               : "memory")
#define ST "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
#define RED "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"

__global__ void __cluster_dims__(2, 1, 1) exchange(Mail* out) {
  __shared__ Mail mail;
  __shared__ uint64_t barrier;
  const int rank = cluster_rank(), other = 1 - rank;
  if (threadIdx.x == 0) {
    mail = Mail{{0, 0, 0, 0}, {0, 0}, 0, 1000, 0, 100, 50, 50, 9, 0x0f, 0xff, 0x55};
    barrier_init(&barrier, 1);
    fence_barrier_init();
    // What thread 0 stores, and the reductions of every thread.
    arrive_expect(&barrier, 16 + 16 + 8 + 4 + kThreads * (8 + 7 * 4));
  }
  fence_async();
  cluster_sync();
  const uint32_t t = threadIdx.x, base = static_cast<uint32_t>(rank) * 1000;
  if (t == 0) {
    SEND(ST ".v4.u32 [%0], {%2, %3, %4, %5}, [%1];", quad, "r"(base + 1), "r"(base + 2), "r"(base + 3),
         "r"(base + 4));
    SEND(ST ".v2.b64 [%0], {%2, %3}, [%1];", pair, "l"(base + 5ull), "l"(1ull << 40));
    SEND(ST ".u64 [%0], %2, [%1];", wide, "l"((base + 6ull) << 32));
    SEND(ST ".b32 [%0], %2, [%1];", word, "r"(base + 7));
  }
  SEND(RED ".add.u64 [%0], %2, [%1];", wide_sum, "l"(static_cast<unsigned long long>(t) << 33));
  SEND(RED ".add.u32 [%0], %2, [%1];", sum, "r"(t + base));
  SEND(RED ".max.s32 [%0], %2, [%1];", most, "r"(t * 3));
  SEND(RED ".min.u32 [%0], %2, [%1];", least, "r"(t + 20));
  SEND(RED ".inc.u32 [%0], %2, [%1];", count, "r"(1000));
  SEND(RED ".or.b32 [%0], %2, [%1];", bits, "r"(1u << t));
  SEND(RED ".and.b32 [%0], %2, [%1];", mask, "r"(0xf0u | t));
  SEND(RED ".xor.b32 [%0], %2, [%1];", parity, "r"(t << 8));
  wait_in_cluster(&barrier, 0);
  if (t == 0) out[blockIdx.x] = mail;
  cluster_sync();
}

int main() {
  Report report("cluster_async_words");
  DeviceBuffer<Mail> out(2);
  exchange<<<2, kThreads>>>(out.get());
  LAUNCHED_OK();
  std::vector<Mail> want;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const uint32_t base = (1 - rank) * 1000;
    Mail mail{{base + 1, base + 2, base + 3, base + 4},
              {base + 5ull, 1ull << 40},
              (base + 6ull) << 32,
              1000,
              base + 7,
              100,
              50,
              50,
              9 + kThreads,
              0xffffffffu,
              0xff,
              0x55};
    for (uint32_t t = 0; t < kThreads; ++t) {
      mail.wide_sum += static_cast<uint64_t>(t) << 33;
      mail.sum += t + base;
      mail.most = std::max(mail.most, t * 3);
      mail.least = std::min(mail.least, t + 20);
      mail.mask &= 0xf0u | t;
      mail.parity ^= t << 8;
    }
    want.push_back(mail);
  }
  report.equal("mail", out.download(), want);
  return report.finish();
}
