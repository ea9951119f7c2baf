// mma.sync on bytes: m16n8k32 and m16n8k16, the four signed and unsigned combinations, wrapping and
// saturating.
#include "fragments.cuh"

enum class Kind { s8_s8, u8_u8, s8_u8, u8_s8, saturating };

#define MMA_K32(types)                                                            \
  asm volatile("mma.sync.aligned.m16n8k32.row.col" types                          \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define MMA_K16(types)                                                  \
  asm volatile("mma.sync.aligned.m16n8k16.row.col" types                \
               " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"   \
               : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3]) \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]))

template <Kind kKind>
__device__ void mma(int (&acc)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  if constexpr (kKind == Kind::s8_s8) MMA_K32(".s32.s8.s8.s32");
  if constexpr (kKind == Kind::u8_u8) MMA_K32(".s32.u8.u8.s32");
  if constexpr (kKind == Kind::s8_u8) MMA_K32(".s32.s8.u8.s32");
  if constexpr (kKind == Kind::u8_s8) MMA_K32(".s32.u8.s8.s32");
  if constexpr (kKind == Kind::saturating) MMA_K32(".satfinite.s32.s8.s8.s32");
}
template <Kind kKind>
__device__ void mma(int (&acc)[4], const uint32_t (&a)[2], const uint32_t (&b)[1]) {
  if constexpr (kKind == Kind::s8_s8) MMA_K16(".s32.s8.s8.s32");
  if constexpr (kKind == Kind::u8_u8) MMA_K16(".s32.u8.u8.s32");
  if constexpr (kKind == Kind::s8_u8) MMA_K16(".s32.s8.u8.s32");
  if constexpr (kKind == Kind::u8_s8) MMA_K16(".s32.u8.s8.s32");
  if constexpr (kKind == Kind::saturating) MMA_K16(".satfinite.s32.s8.s8.s32");
}

template <Kind kKind, int kDepth>
__global__ void multiply(const uint8_t* a, const uint8_t* b, const int* c, int* d) {
  constexpr int kWordsA = kDepth / 8, kWordsB = kDepth / 16;
  const int lane = threadIdx.x;
  uint32_t ra[kWordsA], rb[kWordsB];
  load_a<kWordsA, 4>(ra, a, kDepth, lane);
  load_b<kWordsB, 4>(rb, b, kDepth, lane);
  int acc[4];
  for (int k = 0; k < 4; ++k) acc[k] = c[accumulator_row(lane, k) * 8 + accumulator_column(lane, k)];
  mma<kKind>(acc, ra, rb);
  for (int k = 0; k < 4; ++k) d[accumulator_row(lane, k) * 8 + accumulator_column(lane, k)] = acc[k];
}

int64_t widen(uint8_t byte, bool is_signed) {
  return is_signed && byte >= 128 ? byte - 256 : byte;
}

template <Kind kKind, int kDepth>
void run(Report& report, const char* what) {
  Random random(29);
  std::vector<uint8_t> a(16 * kDepth), b(8 * kDepth);
  std::vector<int> c(16 * 8), want(16 * 8);
  for (uint8_t& value : a) value = static_cast<uint8_t>(random.next32());
  for (uint8_t& value : b) value = static_cast<uint8_t>(random.next32());
  for (int i = 0; i < 16 * 8; ++i)
    c[i] = i % 5 == 0 ? INT32_MAX - 100 : i % 7 == 0 ? INT32_MIN + 100 : random.below(9999);
  const bool a_signed = kKind != Kind::u8_u8 && kKind != Kind::u8_s8;
  const bool b_signed = kKind != Kind::u8_u8 && kKind != Kind::s8_u8;
  for (int i = 0; i < 16 * 8; ++i) {
    int64_t sum = c[i];
    for (int k = 0; k < kDepth; ++k) {
      sum += widen(a[i / 8 * kDepth + k], a_signed) * widen(b[i % 8 * kDepth + k], b_signed);
    }
    if (kKind == Kind::saturating) {
      sum = sum > INT32_MAX ? int64_t{INT32_MAX} : sum < INT32_MIN ? int64_t{INT32_MIN} : sum;
    }
    want[i] = static_cast<int>(static_cast<uint32_t>(sum));
  }
  DeviceBuffer<uint8_t> a_input(a), b_input(b);
  DeviceBuffer<int> c_input(c), output(16 * 8);
  multiply<kKind, kDepth><<<1, 32>>>(a_input.get(), b_input.get(), c_input.get(), output.get());
  LAUNCHED_OK();
  report.equal(what, output.download(), want);
}

int main() {
  Report report("mma_int8");
  run<Kind::s8_s8, 32>(report, "k32_s8_s8");
  run<Kind::u8_u8, 32>(report, "k32_u8_u8");
  run<Kind::s8_u8, 32>(report, "k32_s8_u8");
  run<Kind::u8_s8, 32>(report, "k32_u8_s8");
  run<Kind::saturating, 32>(report, "k32_saturating");
  run<Kind::s8_s8, 16>(report, "k16_s8_s8");
  run<Kind::u8_u8, 16>(report, "k16_u8_u8");
  run<Kind::s8_u8, 16>(report, "k16_s8_u8");
  run<Kind::u8_s8, 16>(report, "k16_u8_s8");
  run<Kind::saturating, 16>(report, "k16_saturating");
  return report.finish();
}
