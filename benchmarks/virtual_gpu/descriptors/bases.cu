// Which 16 bytes of shared memory wgmma reads for each piece of an operand, by start address, base offset and
// swizzle of its descriptor: the other operand picks them one by one, and each piece holds its own number.
//   bases           prints "OPERAND MAJOR mode M start S base B extra X: c c c …"
// Pieces are listed row by row of the operand (64 rows, or columns, of 16 halves): along k the two pieces of
// a row; along mn, for each of 16 k, its 8 pieces. "!" after a number: its halves are not in their order.
#include <cuda_fp16.h>

#include "../programs/check.cuh"

constexpr int kImage = 32 << 10, kIdentity = 2048, kSide = 64, kDepth = 16;

struct Question {
  int of_a, along_mn, mode, start, base;
  unsigned long long extra;
};

#define L32                                                                                               \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define R4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define R16(i) R4(i), R4(i + 4), R4(i + 8), R4(i + 12)

// B is asked about: rows 0 to 15 of A, which is in registers, are the identity, so that d[k][n] = B[n][k].
template <int kTransposed>
__device__ void ask_b(float* d, uint64_t b) {
  const int lane = threadIdx.x % 32;
  uint32_t a[4];
  for (int r = 0; r < 4; ++r) {
    const int row = threadIdx.x / 32 * 16 + lane / 4 + 8 * (r & 1), k = lane % 4 * 2 + 8 * (r >> 1);
    a[r] = (row == k ? 0x3c00u : 0u) | (row == k + 1 ? 0x3c000000u : 0u);
  }
  asm volatile("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " L32
               ", {%32, %33, %34, %35}, %36, 0, 1, 1, %37;"
               "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
               : R16(0), R16(16)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(kTransposed)
               : "memory");
}
// A is asked about: B, 16 columns, is the identity, so that d[m][k] = A[m][k].
template <int kTransposed>
__device__ void ask_a(float* d, uint64_t a, uint64_t identity) {
  asm volatile(
      "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, "
      "%6, %7}, %8, %9, 0, 1, 1, %10, 0;"
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
      : R4(0), R4(4)
      : "l"(a), "l"(identity), "n"(kTransposed)
      : "memory");
}

// `inner`: halves count inside of their piece in place of numbering the pieces. out[mn][k].
__global__ void read(Question q, int inner, float* out) {
  extern __shared__ __align__(1024) uint8_t image[];
  __half* const halves = reinterpret_cast<__half*>(image);
  for (int i = threadIdx.x; i < kImage / 2; i += blockDim.x)
    halves[i] = __float2half(static_cast<float>(inner ? i % 8 : i / 8));
  // Without a swizzle: pieces of 8 rows of 16 bytes.
  __half* const identity = halves + kImage / 2;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    const int n = i / 16, k = i % 16;
    identity[n / 8 * 128 + k / 8 * 64 + n % 8 * 8 + k % 8] = __float2half(n == k ? 1.0f : 0.0f);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint64_t width = q.mode == 1 ? 128 : q.mode == 2 ? 64 : q.mode == 3 ? 32 : 16;
  uint64_t leading = 16, stride = 8 * width;
  if (q.along_mn) leading = 16 * width;
  if (q.mode == 0) leading = 128, stride = 256;
  const uint32_t start = static_cast<uint32_t>(__cvta_generic_to_shared(image)) + q.start;
  const uint64_t asked = (start & 0x3ffff) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 |
                         static_cast<uint64_t>(q.base) << 49 | static_cast<uint64_t>(q.mode) << 62 | q.extra;
  const uint32_t unit = static_cast<uint32_t>(__cvta_generic_to_shared(identity));
  const uint64_t known = (unit & 0x3ffff) >> 4 | 128ull >> 4 << 16 | 256ull >> 4 << 32;
  float d[32];
  for (int i = 0; i < 32; ++i) d[i] = 0;
  if (q.of_a && q.along_mn) ask_a<1>(d, asked, known);
  if (q.of_a && !q.along_mn) ask_a<0>(d, asked, known);
  if (!q.of_a && q.along_mn) ask_b<1>(d, asked);
  if (!q.of_a && !q.along_mn) ask_b<0>(d, asked);
  for (int i = 0; i < (q.of_a ? 8 : 32); ++i) {
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * (i / 2 % 2);
    const int column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
    if (q.of_a)
      out[row * kDepth + column] = d[i];
    else if (row < kDepth)
      out[column * kDepth + row] = d[i];
  }
}

void answer(const Question& q, float* device) {
  std::vector<float> numbers(kSide * kDepth), inner(kSide * kDepth);
  for (int i = 0; i < 2; ++i) {
    read<<<1, 128, kImage + kIdentity>>>(q, i, device);
    LAUNCHED_OK();
    CUDA_OK(
        cudaMemcpy((i == 0 ? numbers : inner).data(), device, numbers.size() * 4, cudaMemcpyDeviceToHost));
  }
  std::printf("%s %s mode %d start %d base %d extra %llx:", q.of_a ? "A" : "B", q.along_mn ? "mn" : "k",
              q.mode, q.start, q.base, q.extra);
  for (int piece = 0; piece < 128; ++piece) {
    bool whole = true;
    int number = 0;
    for (int e = 0; e < 8; ++e) {
      const int at =
          q.along_mn ? (piece % 8 * 8 + e) * kDepth + piece / 8 : piece / 2 * kDepth + piece % 2 * 8 + e;
      if (e == 0) number = static_cast<int>(numbers[at]);
      whole = whole && numbers[at] == static_cast<float>(number) && inner[at] == static_cast<float>(e);
    }
    std::printf(" %d%s", number, whole ? "" : "!");
  }
  std::printf("\n");
}

int main() {
  float* device;
  CUDA_OK(cudaMalloc(&device, kSide * kDepth * 4));
  CUDA_OK(cudaFuncSetAttribute(read, cudaFuncAttributeMaxDynamicSharedMemorySize, kImage + kIdentity));
  constexpr int kFirst = 8192;
  for (int of_a = 0; of_a < 2; ++of_a)
    for (int along_mn = 0; along_mn < 2; ++along_mn) {
      for (int mode = 0; mode < 4; ++mode)
        for (int row = 0; row < 8; ++row)
          for (int base = 0; base < 8; ++base)
            answer({of_a, along_mn, mode, kFirst + 128 * row, base, 0}, device);
      // Starts inside of a row of 128 bytes.
      for (int mode = 1; mode < 4; ++mode)
        for (const int start : {16, 32, 48, 64, 96, 160, 224, 416})
          for (const int base : {0, 1, 3}) answer({of_a, along_mn, mode, kFirst + start, base, 0}, device);
      // Bits that no field has.
      for (const int bit : {14, 15, 30, 31, 46, 47, 48, 52, 53, 56, 60, 61})
        for (const int mode : {0, 1}) answer({of_a, along_mn, mode, kFirst, 0, 1ull << bit}, device);
    }
  return 0;
}
