// 64-bit atomics in shared and in global memory, and 16-bit and 64-bit compare-and-swap.
#include "check.cuh"

using Wide = unsigned long long;
constexpr int kThreads = 96, kBlocks = 3;

struct Cells {
  Wide add, maximum_u, minimum_u, bits_and, bits_or, bits_xor, product;
  long long maximum, minimum;
};

__device__ void apply(Cells* cells, Wide u) {
  const long long x = static_cast<long long>(u);
  atomicAdd(&cells->add, u);
  atomicMax(&cells->maximum_u, u);
  atomicMin(&cells->minimum_u, u);
  atomicAnd(&cells->bits_and, u | 0xffff0000ffff0000ull);
  atomicOr(&cells->bits_or, u & 0x0f0f0f0f0f0f0f0full);
  atomicXor(&cells->bits_xor, u);
  atomicMax(&cells->maximum, x);
  atomicMin(&cells->minimum, x);
  // Multiplication, which has no atomic of its own, by compare-and-swap; odd factors keep it from sticking at
  // 0.
  Wide seen = atomicOr(&cells->product, 0ull), before;
  do {
    before = seen;
    seen = atomicCAS(&cells->product, before, before * (u | 1));
  } while (seen != before);
}

__global__ void accumulate(const Wide* in, const Cells* initial, Cells* global_cells, Cells* per_block) {
  __shared__ Cells cells;
  if (threadIdx.x == 0) cells = *initial;
  __syncthreads();
  const Wide u = in[blockIdx.x * kThreads + threadIdx.x];
  apply(global_cells, u);
  apply(&cells, u);
  __syncthreads();
  if (threadIdx.x == 0) per_block[blockIdx.x] = cells;
}

Cells reference(const std::vector<Wide>& in, int begin, int end, Cells cells) {
  for (int i = begin; i < end; ++i) {
    const Wide u = in[i];
    const long long x = static_cast<long long>(u);
    cells.add += u;
    cells.maximum_u = u > cells.maximum_u ? u : cells.maximum_u;
    cells.minimum_u = u < cells.minimum_u ? u : cells.minimum_u;
    cells.bits_and &= u | 0xffff0000ffff0000ull;
    cells.bits_or |= u & 0x0f0f0f0f0f0f0f0full;
    cells.bits_xor ^= u;
    cells.maximum = x > cells.maximum ? x : cells.maximum;
    cells.minimum = x < cells.minimum ? x : cells.minimum;
    cells.product *= u | 1;
  }
  return cells;
}

// A 16-bit counter by compare-and-swap, its neighbours untouched. The first guess is usually wrong.
__device__ void count_up(unsigned short* counter) {
  unsigned short seen = 0, before;
  do {
    before = seen;
    seen = atomicCAS(counter, before, static_cast<unsigned short>(before + 1));
  } while (seen != before);
}

__global__ void exchange(Wide* slot, Wide* handed, unsigned short* small) {
  __shared__ unsigned short local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd(handed, atomicExch(slot, static_cast<Wide>(blockIdx.x * kThreads + threadIdx.x) << 33));
  count_up(small + 1);
  count_up(&local);
  __syncthreads();
  if (threadIdx.x == 0) small[3 + blockIdx.x] = local;
}

int main() {
  Report report("atomics_64");
  constexpr int kAll = kThreads * kBlocks;
  Random random(18);
  std::vector<Wide> in(kAll);
  for (Wide& value : in) value = random.next64();
  const Cells initial = {7, 0, ~0ull, ~0ull, 0, 0, 1, INT64_MIN, INT64_MAX};
  DeviceBuffer<Wide> input(in);
  DeviceBuffer<Cells> start(std::vector<Cells>{initial}), global_cells(std::vector<Cells>{initial}),
      per_block(kBlocks);
  accumulate<<<kBlocks, kThreads>>>(input.get(), start.get(), global_cells.get(), per_block.get());
  LAUNCHED_OK();
  report.equal("global", global_cells.download(), {reference(in, 0, kAll, initial)});
  std::vector<Cells> want;
  for (int b = 0; b < kBlocks; ++b) want.push_back(reference(in, b * kThreads, (b + 1) * kThreads, initial));
  report.equal("shared", per_block.download(), want);

  DeviceBuffer<Wide> slot(1), handed(1);
  slot.fill_bytes(0);
  handed.fill_bytes(0);
  DeviceBuffer<unsigned short> small(std::vector<unsigned short>{11, 65000, 22, 0, 0, 0});
  exchange<<<kBlocks, kThreads>>>(slot.get(), handed.get(), small.get());
  LAUNCHED_OK();
  report.equal("handed", std::vector<Wide>{handed.download()[0] + slot.download()[0]},
               {static_cast<Wide>(kAll) * (kAll - 1) / 2 << 33});
  report.equal("small", small.download(),
               {11, static_cast<unsigned short>(65000 + kAll), 22, kThreads, kThreads, kThreads});
  return report.finish();
}
