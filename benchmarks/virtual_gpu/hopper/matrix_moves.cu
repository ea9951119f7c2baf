// ldmatrix and stmatrix against each other: a tile of halves is moved and transposed through registers, with
// one, two and four matrices at a time.
#include "../programs/check.cuh"
#include "instructions.cuh"

using namespace hopper;

constexpr int kSide = 32, kPitch = kSide + 8;  // 16-bit elements

template <int kCount, bool kLoadTransposed, bool kStoreTransposed>
__device__ void move(uint32_t from, uint32_t to) {
#define LOAD(form, ...) asm volatile("ldmatrix.sync.aligned.m8n8." form ".b16 " __VA_ARGS__ : "memory")
#define STORE(form, ...) asm volatile("stmatrix.sync.aligned.m8n8." form ".b16 " __VA_ARGS__ : "memory")
  uint32_t r[4];
  if constexpr (kCount == 1 && !kLoadTransposed) LOAD("x1.shared", "{%0}, [%1];" : "=r"(r[0]) : "r"(from));
  if constexpr (kCount == 1 && kLoadTransposed)
    LOAD("x1.trans.shared", "{%0}, [%1];" : "=r"(r[0]) : "r"(from));
  if constexpr (kCount == 2 && !kLoadTransposed)
    LOAD("x2.shared", "{%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(from));
  if constexpr (kCount == 2 && kLoadTransposed)
    LOAD("x2.trans.shared", "{%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(from));
  if constexpr (kCount == 4 && !kLoadTransposed)
    LOAD("x4.shared", "{%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from));
  if constexpr (kCount == 4 && kLoadTransposed)
    LOAD("x4.trans.shared", "{%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]),
         "=r"(r[3]) : "r"(from));
  if constexpr (kCount == 1 && !kStoreTransposed) STORE("x1.shared", "[%0], {%1};" ::"r"(to), "r"(r[0]));
  if constexpr (kCount == 1 && kStoreTransposed) STORE("x1.trans.shared", "[%0], {%1};" ::"r"(to), "r"(r[0]));
  if constexpr (kCount == 2 && !kStoreTransposed)
    STORE("x2.shared", "[%0], {%1, %2};" ::"r"(to), "r"(r[0]), "r"(r[1]));
  if constexpr (kCount == 2 && kStoreTransposed)
    STORE("x2.trans.shared", "[%0], {%1, %2};" ::"r"(to), "r"(r[0]), "r"(r[1]));
  if constexpr (kCount == 4 && !kStoreTransposed)
    STORE("x4.shared", "[%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
  if constexpr (kCount == 4 && kStoreTransposed)
    STORE("x4.trans.shared", "[%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
#undef LOAD
#undef STORE
}

template <int kCount, bool kLoadTransposed, bool kStoreTransposed>
__global__ void through_registers(const uint16_t* in, uint16_t* out) {
  __shared__ __align__(128) uint16_t from[kSide][kPitch], to[kSide][kPitch];
  constexpr bool kTransposes = kLoadTransposed != kStoreTransposed;
  const int lane = threadIdx.x;
  for (int i = lane; i < kSide * kSide; i += 32) from[i / kSide][i % kSide] = in[i];
  __syncwarp();
  // Matrix m of a move lies in columns 8 m and up of one strip of 8 rows.
  const int matrix = lane / 8 % kCount;
  for (int top = 0; top < kSide; top += 8)
    for (int left = 0; left < kSide; left += 8 * kCount) {
      const int row = top + lane % 8, column = left + matrix * 8;
      const uint16_t* source = &from[row][column];
      const uint16_t* target = kTransposes ? &to[column + lane % 8][top] : &to[row][column];
      move<kCount, kLoadTransposed, kStoreTransposed>(shared_address(source), shared_address(target));
    }
  __syncwarp();
  for (int i = lane; i < kSide * kSide; i += 32) out[i] = to[i / kSide][i % kSide];
}

template <int kCount, bool kLoadTransposed, bool kStoreTransposed>
void check(Report& report, const char* name, Random& random) {
  std::vector<uint16_t> values(kSide * kSide), want(kSide * kSide);
  for (uint16_t& value : values) value = static_cast<uint16_t>(random.next32());
  for (int r = 0; r < kSide; ++r)
    for (int c = 0; c < kSide; ++c)
      want[kLoadTransposed != kStoreTransposed ? c * kSide + r : r * kSide + c] = values[r * kSide + c];
  DeviceBuffer<uint16_t> in(values), out(values.size());
  through_registers<kCount, kLoadTransposed, kStoreTransposed><<<1, 32>>>(in.get(), out.get());
  LAUNCHED_OK();
  report.equal(name, out.download(), want);
}

int main() {
  Report report("matrix_moves");
  Random random(112);
  check<1, false, false>(report, "x1", random);
  check<1, true, false>(report, "x1_load_transposed", random);
  check<2, false, true>(report, "x2_store_transposed", random);
  check<2, true, true>(report, "x2_both_transposed", random);
  check<4, false, false>(report, "x4", random);
  check<4, true, false>(report, "x4_load_transposed", random);
  check<4, false, true>(report, "x4_store_transposed", random);
  check<4, true, true>(report, "x4_both_transposed", random);
  return report.finish();
}
