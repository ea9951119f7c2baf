// cp.reduce.async.bulk into another block's shared memory: each block combines its values with those of the
// next one.
#include "../programs/check.cuh"
#include "cluster.cuh"

using namespace hopper;

constexpr int kBlocks = 4, kCount = 64;

#define REDUCE(name, form)                                                                               \
  struct name {                                                                                          \
    static __device__ void run(uint32_t to, const void* from, uint32_t bytes, uint32_t barrier) {        \
      asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." form \
                   " [%0], [%1], %2, [%3];" ::"r"(to),                                                   \
                   "r"(shared_address(from)), "r"(bytes), "r"(barrier)                                   \
                   : "memory");                                                                          \
    }                                                                                                    \
  }
REDUCE(AddU32, "add.u32");
REDUCE(AddS32, "add.s32");
REDUCE(AddU64, "add.u64");
REDUCE(MinS32, "min.s32");
REDUCE(MaxU32, "max.u32");
REDUCE(IncU32, "inc.u32");
REDUCE(DecU32, "dec.u32");
REDUCE(AndB32, "and.b32");
REDUCE(OrB32, "or.b32");
REDUCE(XorB32, "xor.b32");
#undef REDUCE

template <class Form, class T>
__global__ void __cluster_dims__(kBlocks, 1, 1) combine(const T* start, const T* in, T* out) {
  __shared__ __align__(128) T mine[kCount], result[kCount];
  __shared__ uint64_t barrier;
  const int rank = cluster_rank(), next = (rank + 1) % kBlocks, at = blockIdx.x * kCount + threadIdx.x;
  result[threadIdx.x] = start[at];
  mine[threadIdx.x] = in[at];
  if (threadIdx.x == 0) {
    barrier_init(&barrier, 1);
    fence_barrier_init();
    arrive_expect(&barrier, sizeof result);
  }
  fence_async();
  cluster_sync();
  if (threadIdx.x == 0) Form::run(in_block(result, next), mine, sizeof mine, in_block(&barrier, next));
  wait_in_cluster(&barrier, 0);
  out[at] = result[threadIdx.x];
  cluster_sync();
}

template <class Form, class T, class Combine>
void check(Report& report, const char* name, Random& random, Combine combined) {
  const int total = kBlocks * kCount;
  std::vector<T> start(total), values(total), want(total);
  for (T& value : start) value = static_cast<T>(random.below(1000) - 20 * static_cast<int>(T(0) > T(-1)));
  for (T& value : values) value = static_cast<T>(random.below(1000));
  for (int i = 0; i < total; ++i)
    want[i] = combined(start[i], values[(i + total - kCount) % total]);  // of the block before
  DeviceBuffer<T> device_start(start), in(values), out(total);
  combine<Form, T><<<kBlocks, kCount>>>(device_start.get(), in.get(), out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("cluster_bulk_reduce");
  Random random(119);
  using U32 = uint32_t;
  auto add = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
  check<AddU32, U32>(report, "add_u32", random, add);
  check<AddS32, int>(report, "add_s32", random, add);
  check<AddU64, unsigned long long>(report, "add_u64", random, add);
  check<MinS32, int>(report, "min_s32", random, [](int a, int b) { return std::min(a, b); });
  check<MaxU32, U32>(report, "max_u32", random, [](U32 a, U32 b) { return std::max(a, b); });
  check<IncU32, U32>(report, "inc_u32", random, [](U32 a, U32 b) { return a >= b ? 0u : a + 1; });
  check<DecU32, U32>(report, "dec_u32", random, [](U32 a, U32 b) { return a == 0 || a > b ? b : a - 1; });
  check<AndB32, U32>(report, "and_b32", random, [](U32 a, U32 b) { return a & b; });
  check<OrB32, U32>(report, "or_b32", random, [](U32 a, U32 b) { return a | b; });
  check<XorB32, U32>(report, "xor_b32", random, [](U32 a, U32 b) { return a ^ b; });
  return report.finish();
}
