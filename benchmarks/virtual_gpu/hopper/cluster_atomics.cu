// Atomics in another block's shared memory: every operation of 32 bits, 64 bits, floats, and
// compare-and-swap.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kBlocks = 2, kThreads = 64;

struct Totals {
  unsigned long long wide;
  unsigned most, least, bits, parity, tickets, winner, swapped;
  float sum;
};

// Every thread of both blocks updates block 0's totals.
__global__ void __cluster_dims__(kBlocks, 1, 1) count(const unsigned* in, Totals* out, unsigned* tickets) {
  __shared__ Totals totals;
  const int rank = cluster_rank(), at = blockIdx.x * kThreads + threadIdx.x;
  if (rank == 0 && threadIdx.x == 0) totals = {0, 0, 0xffffffffu, 0, 0, 0, 0, 7, 0.0f};
  cluster_sync();
  const unsigned value = in[at];
  unsigned old, ticket;
#define THERE(member) "r"(in_block(&totals.member, 0))
  asm volatile("red.relaxed.cluster.shared::cluster.add.u64 [%0], %1;" ::THERE(wide),
               "l"(static_cast<unsigned long long>(value) << 20)
               : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.max.u32 [%0], %1;" ::THERE(most), "r"(value) : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.min.u32 [%0], %1;" ::THERE(least), "r"(value) : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.or.b32 [%0], %1;" ::THERE(bits), "r"(value) : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.xor.b32 [%0], %1;" ::THERE(parity), "r"(value)
               : "memory");
  asm volatile("atom.relaxed.cluster.shared::cluster.inc.u32 %0, [%1], %2;"
               : "=r"(ticket)
               : THERE(tickets), "r"(kBlocks * kThreads - 1)
               : "memory");
  asm volatile("red.relaxed.cluster.shared::cluster.add.f32 [%0], %1;" ::THERE(sum),
               "f"(static_cast<float>(value & 63))
               : "memory");
  // Exactly one thread finds the 7 there.
  asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0, [%1], 7, 9;"
               : "=r"(old)
               : THERE(swapped)
               : "memory");
  if (old == 7)
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::THERE(winner) : "memory");
  tickets[at] = ticket;
  cluster_sync();
  if (rank == 0 && threadIdx.x == 0) *out = totals;
}

int main() {
  Report report("cluster_atomics");
  Random random(95);
  const int total = kBlocks * kThreads;
  std::vector<unsigned> values(total);
  Totals want{0, 0, 0xffffffffu, 0, 0, 0, 1, 9, 0.0f};
  for (unsigned& value : values) {
    value = random.next32();
    want.wide += static_cast<unsigned long long>(value) << 20;
    want.most = std::max(want.most, value);
    want.least = std::min(want.least, value);
    want.bits |= value;
    want.parity ^= value;
    want.sum += static_cast<float>(value & 63);
  }
  DeviceBuffer<unsigned> in(values), tickets(total);
  DeviceBuffer<Totals> out(1);
  count<<<kBlocks, kThreads>>>(in.get(), out.get(), tickets.get());
  LAUNCHED_OK();
  report.equal("totals", out.download(), std::vector<Totals>{want});
  std::vector<unsigned> seen(total, 0), once(total, 1);
  for (const unsigned ticket : tickets.download())
    if (ticket < static_cast<unsigned>(total)) ++seen[ticket];
  report.equal("tickets", seen, once);
  return report.finish();
}
