// One cp.async a lane from rows in global memory into rows in shared memory. The launches differ in the size
// of a copy, in how many lanes share a row and in both pitches, so that what the shared layout adds to the
// sector count stands apart from what the global layout does.
#include "buffers.cuh"

constexpr int kThreads = 128;
constexpr int kBlocks = 32;
constexpr int kSharedBytes = 40960;

template <int kBytes, bool kBypassL1>
__device__ void copy_async(unsigned shared, const char* global) {
  if constexpr (kBypassL1) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(kBytes));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(global), "n"(kBytes));
  }
}

template <int kBytes, bool kBypassL1, int kLanesPerRow, int kSharedPitch, int kGlobalPitch>
__global__ void stage_rows(const char* in) {
  __shared__ alignas(128) char tile[kSharedBytes];
  static_assert(kThreads / kLanesPerRow * kSharedPitch <= kSharedBytes);
  const int row = threadIdx.x / kLanesPerRow;
  const int column = threadIdx.x % kLanesPerRow * kBytes;
  const char* block_rows = in + blockIdx.x * (kThreads / kLanesPerRow) * kGlobalPitch;
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  copy_async<kBytes, kBypassL1>(base + row * kSharedPitch + column, block_rows + row * kGlobalPitch + column);
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Rows of 128 bytes, 16-byte chunks permuted by the row as a swizzled matmul tile does.
__global__ void stage_swizzled_rows(const char* in) {
  __shared__ alignas(128) char tile[kThreads * 16];
  const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
  const char* source = in + (blockIdx.x * (kThreads / 8) + row) * 1024 + chunk * 16;
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  copy_async<16, true>(base + row * 128 + (chunk ^ (row % 8)) * 16, source);
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// Every odd row is filled with zeros instead of being read (source size 0).
__global__ void stage_zero_filled_rows(const char* in) {
  __shared__ alignas(128) char tile[kThreads * 16];
  const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
  const char* source = in + (blockIdx.x * (kThreads / 8) + row) * 1024 + chunk * 16;
  const unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const int valid = row % 2 == 0 ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(base + threadIdx.x * 16), "l"(source),
               "r"(valid));
  asm volatile("cp.async.wait_all;" ::: "memory");
}

int main() {
  char* in = device_bytes(kBlocks * kThreads * 1024);
  // 16 bytes per lane; one long row, then rows of 128, 64 and 32 bytes, unpadded and padded.
  stage_rows<16, true, 32, 512, 512><<<kBlocks, kThreads>>>(in);
  stage_rows<16, false, 32, 512, 512><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 128, 128><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 128, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 144, 128><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 144, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, false, 8, 144, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 160, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 192, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 8, 256, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 4, 64, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 4, 80, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 4, 128, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 2, 48, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 16, 272, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 1, 128, 16><<<kBlocks, kThreads>>>(in);
  stage_rows<16, true, 1, 16, 1024><<<kBlocks, kThreads>>>(in);
  // 8 and 4 bytes per lane, which only the caching form takes.
  stage_rows<8, false, 32, 256, 256><<<kBlocks, kThreads>>>(in);
  stage_rows<8, false, 8, 72, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<8, false, 1, 128, 8><<<kBlocks, kThreads>>>(in);
  stage_rows<4, false, 32, 128, 128><<<kBlocks, kThreads>>>(in);
  stage_rows<4, false, 8, 36, 1024><<<kBlocks, kThreads>>>(in);
  stage_rows<4, false, 1, 132, 4><<<kBlocks, kThreads>>>(in);
  stage_rows<4, false, 1, 128, 4><<<kBlocks, kThreads>>>(in);
  stage_swizzled_rows<<<kBlocks, kThreads>>>(in);
  stage_zero_filled_rows<<<kBlocks, kThreads>>>(in);
  return finish({in});
}
