// Special registers: lane and warp numbers, lane masks, multiprocessor, shared memory sizes, clocks that
// never run back.
#include "check.cuh"

constexpr int kThreads = 96, kBlocks = 3, kRows = 10;

#define READ_U32(name)                                     \
  [] {                                                     \
    uint32_t value;                                        \
    asm volatile("mov.u32 %0, %%" name ";" : "=r"(value)); \
    return value;                                          \
  }()

extern __shared__ int dynamic_words[];

__global__ void registers(uint32_t* out, uint32_t* odd, long long* clocks) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  dynamic_words[threadIdx.x] = i;
  const long long begin = clock64();
  Column<uint32_t> to{out, kThreads * kBlocks, i};
  to.put(READ_U32("laneid"));
  to.put(READ_U32("lanemask_lt"));
  to.put(READ_U32("lanemask_le"));
  to.put(READ_U32("lanemask_eq"));
  to.put(READ_U32("lanemask_ge"));
  to.put(READ_U32("lanemask_gt"));
  to.put(READ_U32("ctaid.x") * 1000 + READ_U32("tid.x"));
  to.put(READ_U32("ntid.x") * 1000 + READ_U32("nctaid.x"));
  to.put(READ_U32("dynamic_smem_size"));
  to.put(warpSize);
  const bool smid_in_range = READ_U32("smid") < READ_U32("nsmid");
  const bool warp_in_range = READ_U32("warpid") < READ_U32("nwarpid");
  const bool shared_covers = READ_U32("total_smem_size") >= READ_U32("dynamic_smem_size");
  odd[i] = smid_in_range | warp_in_range << 1 | shared_covers << 2;
  __syncthreads();
  unsigned long long time, later;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  const long long end = clock64();
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(later));
  clocks[i] = end - begin;
  odd[i] |= (later >= time) << 3;
}

int main() {
  Report report("special_registers");
  constexpr int kAll = kThreads * kBlocks;
  DeviceBuffer<uint32_t> output(kRows * kAll), odd(kAll);
  DeviceBuffer<long long> clocks(kAll);
  const int shared = kThreads * sizeof(int);
  registers<<<kBlocks, kThreads, shared>>>(output.get(), odd.get(), clocks.get());
  LAUNCHED_OK();
  std::vector<uint32_t> want(kRows * kAll);
  for (int i = 0; i < kAll; ++i) {
    const uint32_t lane = i % kThreads % 32, bit = 1u << lane;
    Column<uint32_t> to{want.data(), kAll, i};
    for (uint32_t row :
         {lane, bit - 1, bit - 1 + bit, bit, ~(bit - 1), ~(bit - 1) & ~bit,
          static_cast<uint32_t>(i / kThreads * 1000 + i % kThreads),
          static_cast<uint32_t>(kThreads * 1000 + kBlocks), static_cast<uint32_t>(shared), 32u}) {
      to.put(row);
    }
  }
  report.equal("registers", output.download(), want);
  report.equal("ranges", odd.download(), std::vector<uint32_t>(kAll, 15));
  for (long long elapsed : clocks.download()) report.check(elapsed > 0, "the clock moves forward");
  return report.finish();
}
