// Reductions of a box into a tensor: every operation of the integer types, and add, min and max of halves.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tensor.cuh"

using namespace hopper;

constexpr int kRows = 8, kRowBytes = 64;

#define REDUCE(name, operation)                                                          \
  struct name {                                                                          \
    static __device__ void run(const CUtensorMap* map, int x, int y, const void* from) { \
      asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." operation        \
                   ".tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),                  \
                   "r"(x), "r"(y), "r"(shared_address(from))                             \
                   : "memory");                                                          \
    }                                                                                    \
  }
REDUCE(Add, "add");
REDUCE(Min, "min");
REDUCE(Max, "max");
REDUCE(Inc, "inc");
REDUCE(Dec, "dec");
REDUCE(And, "and");
REDUCE(Or, "or");
REDUCE(Xor, "xor");
#undef REDUCE

template <class Form, class T>
__global__ void reduce(const __grid_constant__ CUtensorMap map, const T* in, int x, int y) {
  constexpr int kCount = kRows * kRowBytes / sizeof(T);
  __shared__ __align__(128) T tile[kCount];
  for (int i = threadIdx.x; i < kCount; i += blockDim.x) tile[i] = in[i];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    Form::run(&map, x, y, tile);
    commit();
    wait_writes();
  }
}

template <class Form, class T, class Combine>
void check(Report& report, const char* name, CUtensorMapDataType type, Random& random, Combine combine,
           int limit = 1000) {
  constexpr int kBox = kRowBytes / sizeof(T);
  const int width = kBox * 2, height = 12, x = kBox, y = 7;  // the last rows of the box are cut off
  std::vector<T> values(kRows * kBox), want(width * height);
  for (T& value : values) value = static_cast<T>(static_cast<float>(random.below(limit)));
  for (T& value : want) value = static_cast<T>(static_cast<float>(random.below(limit)));
  DeviceBuffer<T> in(values), out(want);
  const auto w = static_cast<cuuint64_t>(width), h = static_cast<cuuint64_t>(height);
  const CUtensorMap map = tensor_map(type, out.get(), {w, h}, {w * sizeof(T)}, {kBox, kRows});
  reduce<Form, T><<<1, 64>>>(map, in.get(), x, y);
  LAUNCHED_OK();
  for (int r = 0; y + r < height && r < kRows; ++r)
    for (int c = 0; c < kBox; ++c) {
      T& to = want[(y + r) * width + x + c];
      to = combine(to, values[r * kBox + c]);
    }
  report.equal(name, out.download(), want);
}

int main() {
  Report report("tensor_reduce");
  Random random(90);
  using U32 = uint32_t;
  using U64 = unsigned long long;
  const CUtensorMapDataType u32 = CU_TENSOR_MAP_DATA_TYPE_UINT32, s32 = CU_TENSOR_MAP_DATA_TYPE_INT32,
                            u64 = CU_TENSOR_MAP_DATA_TYPE_UINT64, s64 = CU_TENSOR_MAP_DATA_TYPE_INT64,
                            f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  auto add = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
  auto least = [](auto a, auto b) { return a < b ? a : b; };
  auto most = [](auto a, auto b) { return a < b ? b : a; };
  auto add_half = [](auto a, auto b) {
    return static_cast<decltype(a)>(static_cast<float>(a) + static_cast<float>(b));
  };
  auto least_half = [](auto a, auto b) { return static_cast<float>(a) < static_cast<float>(b) ? a : b; };
  auto most_half = [](auto a, auto b) { return static_cast<float>(a) < static_cast<float>(b) ? b : a; };
  check<Add, U64>(report, "add_u64", u64, random, add);
  check<Min, U32>(report, "min_u32", u32, random, least);
  check<Max, int>(report, "max_s32", s32, random, most);
  check<Min, long long>(report, "min_s64", s64, random, least);
  check<Max, U64>(report, "max_u64", u64, random, most);
  check<Inc, U32>(report, "inc_u32", u32, random, [](U32 a, U32 b) { return a >= b ? 0u : a + 1; });
  check<Dec, U32>(report, "dec_u32", u32, random, [](U32 a, U32 b) { return a == 0 || a > b ? b : a - 1; });
  check<And, U32>(report, "and_b32", u32, random, [](U32 a, U32 b) { return a & b; });
  check<Or, U64>(report, "or_b64", u64, random, [](U64 a, U64 b) { return a | b; });
  check<Xor, U32>(report, "xor_b32", u32, random, [](U32 a, U32 b) { return a ^ b; });
  check<Add, __half>(report, "add_f16", f16, random, add_half, 100);
  check<Add, __nv_bfloat16>(report, "add_bf16", bf16, random, add_half, 60);
  check<Min, __half>(report, "min_f16", f16, random, least_half);
  check<Max, __nv_bfloat16>(report, "max_bf16", bf16, random, most_half, 256);
  return report.finish();
}
