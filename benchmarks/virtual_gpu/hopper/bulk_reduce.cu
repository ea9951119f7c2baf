// cp.reduce.async.bulk into global memory: every type and operation, several blocks into one place where the
// order does not show.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kBytes = 512;

#define REDUCE(name, form)                                                                                  \
  struct name {                                                                                             \
    static __device__ void run(void* to, const void* from) {                                                \
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." form " [%0], [%1], %2;" ::"l"(to), \
                   "r"(shared_address(from)), "r"(kBytes)                                                   \
                   : "memory");                                                                             \
    }                                                                                                       \
  }
REDUCE(AddU32, "add.u32");
REDUCE(AddS32, "add.s32");
REDUCE(AddU64, "add.u64");
REDUCE(AddF32, "add.f32");
REDUCE(AddF64, "add.f64");
REDUCE(AddF16, "add.noftz.f16");
REDUCE(AddBf16, "add.noftz.bf16");
REDUCE(MinU32, "min.u32");
REDUCE(MaxS32, "max.s32");
REDUCE(MinS64, "min.s64");
REDUCE(MaxU64, "max.u64");
REDUCE(MaxF16, "max.f16");
REDUCE(MinBf16, "min.bf16");
REDUCE(AndB32, "and.b32");
REDUCE(OrB32, "or.b32");
REDUCE(XorB64, "xor.b64");
REDUCE(IncU32, "inc.u32");
REDUCE(DecU32, "dec.u32");
#undef REDUCE

template <class Form, class T>
__global__ void reduce(const T* in, T* out) {
  __shared__ __align__(128) T tile[kBytes / sizeof(T)];
  for (int i = threadIdx.x; i < kBytes / static_cast<int>(sizeof(T)); i += blockDim.x)
    tile[i] = in[blockIdx.x * (kBytes / sizeof(T)) + i];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    Form::run(out, tile);
    commit();
    wait_writes();
  }
}

template <class Form, class T, class Combine>
void check(Report& report, const char* name, Random& random, Combine combine, uint64_t limit = 1000) {
  const int count = kBytes / sizeof(T), blocks = 3;
  std::vector<T> values(blocks * count), start(count);
  for (T& v : values) v = static_cast<T>(static_cast<double>(random.below(static_cast<int>(limit))));
  for (T& v : start) v = static_cast<T>(static_cast<double>(random.below(static_cast<int>(limit))));
  DeviceBuffer<T> in(values), out(start);
  for (int b = 0; b < blocks; ++b) {  // one after the other: inc and dec do not commute
    reduce<Form, T><<<1, 32>>>(in.get() + b * count, out.get());
    LAUNCHED_OK();
    for (int i = 0; i < count; ++i) start[i] = combine(start[i], values[b * count + i]);
  }
  report.equal(name, out.download(), start);
}

int main() {
  Report report("bulk_reduce");
  Random random(33);
  auto add = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
  auto least = [](auto a, auto b) { return a < b ? a : b; };
  auto most = [](auto a, auto b) { return a < b ? b : a; };
  check<AddU32, uint32_t>(report, "add_u32", random, add);
  check<AddS32, int>(report, "add_s32", random, add);
  check<AddU64, unsigned long long>(report, "add_u64", random, add);
  check<AddF32, float>(report, "add_f32", random, add);
  check<AddF64, double>(report, "add_f64", random, add);
  auto add_half = [](auto a, auto b) {
    return static_cast<decltype(a)>(static_cast<float>(a) + static_cast<float>(b));
  };
  auto least_half = [](auto a, auto b) { return static_cast<float>(a) < static_cast<float>(b) ? a : b; };
  auto most_half = [](auto a, auto b) { return static_cast<float>(a) < static_cast<float>(b) ? b : a; };
  check<AddF16, __half>(report, "add_f16", random, add_half, 100);
  check<AddBf16, __nv_bfloat16>(report, "add_bf16", random, add_half, 60);
  check<MaxF16, __half>(report, "max_f16", random, most_half);
  check<MinBf16, __nv_bfloat16>(report, "min_bf16", random, least_half);
  check<MinU32, uint32_t>(report, "min_u32", random, least);
  check<MaxS32, int>(report, "max_s32", random, most);
  check<MinS64, long long>(report, "min_s64", random, least);
  check<MaxU64, unsigned long long>(report, "max_u64", random, most);
  check<AndB32, uint32_t>(report, "and_b32", random, [](uint32_t a, uint32_t b) { return a & b; });
  check<OrB32, uint32_t>(report, "or_b32", random, [](uint32_t a, uint32_t b) { return a | b; });
  check<XorB64, unsigned long long>(report, "xor_b64", random,
                                    [](unsigned long long a, unsigned long long b) { return a ^ b; });
  check<IncU32, uint32_t>(report, "inc_u32", random,
                          [](uint32_t a, uint32_t b) { return a >= b ? 0u : a + 1; });
  check<DecU32, uint32_t>(report, "dec_u32", random,
                          [](uint32_t a, uint32_t b) { return a == 0 || a > b ? b : a - 1; });
  return report.finish();
}
