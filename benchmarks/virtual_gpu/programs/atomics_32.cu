// Every usual 32-bit atomic, in shared and in global memory, with and without use of the returned value. The
// operations chosen commute, or their outcome is the same in any order, so the answer does not depend on it.
#include "check.cuh"

constexpr int kThreads = 128, kBlocks = 3, kCells = 12;

struct Cells {
  int add, sub, minimum, maximum;
  unsigned minimum_u, maximum_u, bits_and, bits_or, bits_xor, wrapped_up, wrapped_down, swapped;
};
static_assert(sizeof(Cells) == kCells * 4, "one word each");

__device__ void apply(Cells* cells, int x) {
  const unsigned u = static_cast<unsigned>(x);
  atomicAdd(&cells->add, x);
  atomicSub(&cells->sub, x);
  atomicMin(&cells->minimum, x);
  atomicMax(&cells->maximum, x);
  atomicMin(&cells->minimum_u, u);
  atomicMax(&cells->maximum_u, u);
  atomicAnd(&cells->bits_and, u | 0xff00ff00u);
  atomicOr(&cells->bits_or, u & 0x0f0f0f0fu);
  atomicXor(&cells->bits_xor, u);
  atomicInc(&cells->wrapped_up, 9);
  atomicDec(&cells->wrapped_down, 9);
  // A maximum by compare-and-swap.
  unsigned seen = atomicAdd(&cells->swapped, 0u);
  while (seen < (u & 0xffff)) {
    const unsigned before = atomicCAS(&cells->swapped, seen, u & 0xffff);
    if (before == seen) break;
    seen = before;
  }
}

__global__ void accumulate(const int* in, const Cells* initial, Cells* global_cells, Cells* per_block) {
  __shared__ Cells cells;
  if (threadIdx.x == 0) cells = *initial;
  __syncthreads();
  const int x = in[blockIdx.x * kThreads + threadIdx.x];
  apply(global_cells, x);
  apply(&cells, x);
  __syncthreads();
  if (threadIdx.x == 0) per_block[blockIdx.x] = cells;
}

Cells reference(const std::vector<int>& in, int begin, int end, Cells cells) {
  for (int i = begin; i < end; ++i) {
    const int x = in[i];
    const unsigned u = static_cast<unsigned>(x);
    cells.add = static_cast<int>(static_cast<unsigned>(cells.add) + u);
    cells.sub = static_cast<int>(static_cast<unsigned>(cells.sub) - u);
    cells.minimum = x < cells.minimum ? x : cells.minimum;
    cells.maximum = x > cells.maximum ? x : cells.maximum;
    cells.minimum_u = u < cells.minimum_u ? u : cells.minimum_u;
    cells.maximum_u = u > cells.maximum_u ? u : cells.maximum_u;
    cells.bits_and &= u | 0xff00ff00u;
    cells.bits_or |= u & 0x0f0f0f0fu;
    cells.bits_xor ^= u;
    cells.wrapped_up = cells.wrapped_up >= 9 ? 0 : cells.wrapped_up + 1;
    cells.wrapped_down = cells.wrapped_down == 0 || cells.wrapped_down > 9 ? 9 : cells.wrapped_down - 1;
    cells.swapped = (u & 0xffff) > cells.swapped ? u & 0xffff : cells.swapped;
  }
  return cells;
}

// Returned values: tickets are a permutation, an exchange chain loses nothing, scopes agree.
__global__ void tickets(unsigned* counter, int* taken, unsigned* chain, unsigned* handed) {
  __shared__ unsigned block_counter, block_chain, block_bits;
  if (threadIdx.x == 0) {
    block_counter = 0;
    block_chain = 1000;
    block_bits = 0;
  }
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  taken[atomicAdd(counter, 1u)] = 1;
  atomicAdd(handed + 0, atomicExch(chain, i));
  atomicAdd_system(handed + 1, atomicAdd_block(&block_counter, 1u));
  atomicAdd(handed + 2, atomicExch(&block_chain, i));
  // Reductions return nothing; the compiler leaves choosing them to ptxas, so they are written out.
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(handed + 3)), "r"(i) : "memory");
  asm volatile("red.global.max.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(handed + 4)), "r"(i ^ 37)
               : "memory");
  asm volatile(
      "red.shared.or.b32 [%0], %1;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(&block_bits))),
      "r"(1u << (i % 32))
      : "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(handed + 2, block_chain);
    atomicAnd(handed + 5, block_bits);
  }
}

int main() {
  Report report("atomics_32");
  constexpr int kAll = kThreads * kBlocks;
  Random random(17);
  std::vector<int> in(kAll);
  for (int& value : in) value = static_cast<int>(random.next32());
  const Cells initial = {5, 5, INT32_MAX, INT32_MIN, ~0u, 0, ~0u, 0, 0, 3, 50, 0};
  DeviceBuffer<int> input(in);
  DeviceBuffer<Cells> start(std::vector<Cells>{initial}), global_cells(std::vector<Cells>{initial}),
      per_block(kBlocks);
  accumulate<<<kBlocks, kThreads>>>(input.get(), start.get(), global_cells.get(), per_block.get());
  LAUNCHED_OK();
  report.equal("global", global_cells.download(), {reference(in, 0, kAll, initial)});
  std::vector<Cells> want;
  for (int b = 0; b < kBlocks; ++b) want.push_back(reference(in, b * kThreads, (b + 1) * kThreads, initial));
  report.equal("shared", per_block.download(), want);

  DeviceBuffer<unsigned> counter(1), chain(1), handed(std::vector<unsigned>{0, 0, 0, 0, 0, ~0u});
  DeviceBuffer<int> taken(kAll);
  counter.fill_bytes(0);
  chain.fill_bytes(0);
  taken.fill_bytes(0);
  tickets<<<kBlocks, kThreads>>>(counter.get(), taken.get(), chain.get(), handed.get());
  LAUNCHED_OK();
  report.equal("tickets", taken.download(), std::vector<int>(kAll, 1));
  // What was handed back plus what is left is everything put in, whatever the order.
  std::vector<unsigned> sums = handed.download();
  sums[0] += chain.download()[0];
  unsigned largest = 0;
  for (unsigned i = 0; i < kAll; ++i) largest = (i ^ 37) > largest ? i ^ 37 : largest;
  const unsigned all = kAll * (kAll - 1) / 2, block_tickets = kBlocks * (kThreads * (kThreads - 1) / 2);
  report.equal("handed", sums, {all, block_tickets, all + kBlocks * 1000, all, largest, ~0u});
  return report.finish();
}
