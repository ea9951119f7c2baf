// wgmma of bits: every n, A from registers and from descriptors, every pair of swizzles, the old result added
// or not. Prints a hash of each result, and where it differs from the host's.
//   bits            prints "A_from modeA modeB step adds n: crc, wrong of all"
#include "../hopper/bits.cuh"
#include "../programs/check.cuh"

constexpr int kRows = 64, kMostColumns = 256;

struct Tile {
  int width, mode;  // bytes of a row of the pattern; as descriptors number it
};
constexpr Tile kTiles[] = {{16, 0}, {128, 1}, {64, 2}, {32, 3}};

__host__ __device__ inline uint32_t swizzled(uint32_t offset, int width) {
  const uint32_t mask = width == 128 ? 0x70 : width == 64 ? 0x30 : width == 32 ? 0x10 : 0;
  return offset ^ (offset >> 3 & mask);
}
// Where byte `at` (0 to 31) of row `i` lies, in step `step` along the row of the pattern.
__host__ __device__ inline uint32_t place(int width, int i, int at, int step) {
  if (width == 16) return i / 8 * 256 + at / 16 * 128 + i % 8 * 16 + at % 16;
  return swizzled(i * width + step * 32 + at, width);
}
__device__ inline uint64_t descriptor(uint32_t start, int width, int mode) {
  const uint64_t leading = width == 16 ? 128 : 16, stride = width == 16 ? 256 : 8 * width;
  return (start & 0x3ffff) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | static_cast<uint64_t>(mode) << 62;
}

template <int kColumns, bool kRegisters>
__global__ void product(const uint8_t* a, const uint8_t* b, int width_a, int mode_a, int width_b, int mode_b,
                        int step, int adds, uint32_t* out) {
  extern __shared__ __align__(1024) uint8_t tiles[];
  uint8_t *const a_tile = tiles, *const b_tile = tiles + kRows * 128;
  for (int i = threadIdx.x; i < kRows * 32; i += blockDim.x)
    a_tile[place(width_a, i / 32, i % 32, width_a == 16 ? 0 : step % (width_a / 32))] = a[i];
  for (int i = threadIdx.x; i < kColumns * 32; i += blockDim.x)
    b_tile[place(width_b, i / 32, i % 32, width_b == 16 ? 0 : step % (width_b / 32))] = b[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * 16;
  uint32_t from[4];
  for (int r = 0; r < 4; ++r)
    memcpy(&from[r], a + (first + lane / 4 + 8 * (r & 1)) * 32 + lane % 4 * 4 + 16 * (r >> 1), 4);
  const uint32_t at_a = static_cast<uint32_t>(__cvta_generic_to_shared(a_tile)),
                 at_b = static_cast<uint32_t>(__cvta_generic_to_shared(b_tile));
  const uint32_t on_a = width_a == 16 ? 0 : step % (width_a / 32) * 32,
                 on_b = width_b == 16 ? 0 : step % (width_b / 32) * 32;
  uint32_t d[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) d[i] = 0x7fffff80u + threadIdx.x * 3 + i;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  hopper::multiply_bits<kColumns, kRegisters>(d, from, descriptor(at_a + on_a, width_a, mode_a),
                                              descriptor(at_b + on_b, width_b, mode_b), adds);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) out[threadIdx.x * (kColumns / 2) + i] = d[i];
}

uint32_t state = 12345;
uint8_t random_byte() {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return static_cast<uint8_t>(state >> 11);
}

uint32_t crc(const std::vector<uint32_t>& words) {
  uint32_t c = ~0u;
  for (const uint32_t w : words)
    for (int i = 0; i < 4; ++i) {
      c ^= w >> (8 * i) & 0xff;
      for (int k = 0; k < 8; ++k) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
  return ~c;
}

template <int kColumns, bool kRegisters>
void ask(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const uint8_t* da, const uint8_t* db,
         uint32_t* dout) {
  constexpr int kShared = kRows * 128 + kMostColumns * 128;
  CUDA_OK(cudaFuncSetAttribute(product<kColumns, kRegisters>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kShared));
  int number = 0;
  for (const Tile& of_a : kTiles)
    for (const Tile& of_b : kTiles) {
      if (kRegisters && of_a.mode != 0) continue;
      const int step = number % 4, adds = number++ % 3 != 0;
      product<kColumns, kRegisters>
          <<<1, 128, kShared>>>(da, db, of_a.width, of_a.mode, of_b.width, of_b.mode, step, adds, dout);
      LAUNCHED_OK();
      std::vector<uint32_t> got(128 * kColumns / 2);
      CUDA_OK(cudaMemcpy(got.data(), dout, got.size() * 4, cudaMemcpyDeviceToHost));
      size_t wrong = 0;
      for (int t = 0; t < 128; ++t)
        for (int i = 0; i < kColumns / 2; ++i) {
          const int row = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2), column = i / 4 * 8 + t % 4 * 2 + i % 2;
          uint32_t want = adds ? 0x7fffff80u + t * 3 + i : 0;
          for (int k = 0; k < 32; ++k)
            want += static_cast<uint32_t>(__builtin_popcount(a[row * 32 + k] & b[column * 32 + k]));
          wrong += want != got[t * (kColumns / 2) + i];
        }
      std::printf("%s modes %d %d step %d adds %d n %d: %08x, %zu of %zu differ from the host\n",
                  kRegisters ? "registers" : "shared", of_a.mode, of_b.mode, step, adds, kColumns, crc(got),
                  wrong, got.size());
    }
}

template <int... kColumns>
void ask_all(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, const uint8_t* da,
             const uint8_t* db, uint32_t* out) {
  ((ask<kColumns, false>(a, b, da, db, out), ask<kColumns, true>(a, b, da, db, out)), ...);
}

int main() {
  std::vector<uint8_t> a(kRows * 32), b(kMostColumns * 32);
  for (uint8_t& x : a) x = random_byte();
  for (uint8_t& x : b) x = random_byte();
  uint8_t *da, *db;
  uint32_t* out;
  CUDA_OK(cudaMalloc(&da, a.size()));
  CUDA_OK(cudaMalloc(&db, b.size()));
  CUDA_OK(cudaMalloc(&out, 128 * 128 * 4));
  CUDA_OK(cudaMemcpy(da, a.data(), a.size(), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(db, b.data(), b.size(), cudaMemcpyHostToDevice));
  ask_all<8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256>(a, b, da, db, out);
  return 0;
}
