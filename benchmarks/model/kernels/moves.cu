// Data put elsewhere: padding taken off rows, arrays reversed, axes exchanged, and small arrays joined.
#include "bench.cuh"

namespace {

// An image with rows of 333 pixels of three bytes, each on a line of 1024 bytes; the copy has no gaps.
constexpr int kRows = 2048, kRowBytes = 999, kPitch = 1024;

__global__ void unpad_thread_per_row(const uint8_t* from, uint8_t* to) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= kRows) return;
  for (int i = 0; i < kRowBytes; ++i) to[row * kRowBytes + i] = from[row * kPitch + i];
}

__global__ void unpad_warp_per_row(const uint8_t* from, uint8_t* to) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= kRows) return;
  for (int i = threadIdx.x % 32; i < kRowBytes; i += 32) to[row * kRowBytes + i] = from[row * kPitch + i];
}

__global__ void unpad_block_per_row(const uint8_t* from, uint8_t* to) {
  const int row = blockIdx.x;
  for (int i = threadIdx.x; i < kRowBytes; i += blockDim.x) to[row * kRowBytes + i] = from[row * kPitch + i];
}

// The copy as one array: four bytes of it a thread, which may come from two rows.
__global__ void unpad_four_bytes_a_thread(const uint8_t* from, uint8_t* to) {
  const int unit = blockIdx.x * blockDim.x + threadIdx.x;
  if (unit >= kRows * kRowBytes / 4) return;
  uint8_t kept[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int i = unit * 4 + k;
    kept[k] = from[i / kRowBytes * kPitch + i % kRowBytes];
  }
  reinterpret_cast<uchar4*>(to)[unit] = make_uchar4(kept[0], kept[1], kept[2], kept[3]);
}

__global__ void reverse_scalar(const float* from, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[count - 1 - i] = from[i];
}

__global__ void reverse_wide(const float* from, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, units = count / 4;
  if (i >= units) return;
  const float4 four = reinterpret_cast<const float4*>(from)[i];
  reinterpret_cast<float4*>(to)[units - 1 - i] = make_float4(four.w, four.z, four.y, four.x);
}

// A block turns its piece round in shared memory, and stores it in ascending order.
__global__ void reverse_shared(const float* from, float* to, int count) {
  __shared__ float piece[256];
  piece[255 - threadIdx.x] = from[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  to[count - 256 * (blockIdx.x + 1) + threadIdx.x] = piece[threadIdx.x];
}

// Transposes of a square of n x n halves; blocks of 32 x 8 threads.
__global__ void transpose_halves_naive(const __half* from, __half* to, int n) {
  const int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32;
  for (int y = y0 + threadIdx.y; y < y0 + 32; y += 8) to[x * n + y] = from[y * n + x];
}

template <int kPad>
__global__ void transpose_halves_tile(const __half* from, __half* to, int n) {
  __shared__ __half tile[32][32 + kPad];
  const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32, tx = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 8) tile[y][tx] = from[(y0 + y) * n + x0 + tx];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) to[(x0 + y) * n + y0 + tx] = tile[tx][y];
}

// Tiles of 64 x 64 with two neighbours in every load and store of global memory.
__global__ void transpose_halves_pairs(const __half* from, __half* to, int n) {
  __shared__ __align__(4) __half tile[64][64 + 2];
  const int x0 = blockIdx.x * 64, y0 = blockIdx.y * 64, tx = 2 * threadIdx.x;
  for (int y = threadIdx.y; y < 64; y += 8)
    *reinterpret_cast<__half2*>(&tile[y][tx]) =
        *reinterpret_cast<const __half2*>(&from[(y0 + y) * n + x0 + tx]);
  __syncthreads();
  for (int y = threadIdx.y; y < 64; y += 8)
    *reinterpret_cast<__half2*>(&to[(x0 + y) * n + y0 + tx]) = __halves2half2(tile[tx][y], tile[tx + 1][y]);
}

// [batch, head, position, dimension] to [batch, position, head, dimension].
constexpr int kBatch = 4, kHeads = 16, kPositions = 512, kDim = 64;
constexpr int kElements = kBatch * kHeads * kPositions * kDim;

// Where a row of the result is in the source.
__device__ int source_row(int row) {
  const int head = row % kHeads, position = row / kHeads % kPositions, batch = row / (kHeads * kPositions);
  return (batch * kHeads + head) * kPositions + position;
}

__global__ void axes_scalar(const __half* from, __half* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kElements) to[i] = from[source_row(i / kDim) * kDim + i % kDim];
}

__global__ void axes_wide(const uint4* from, uint4* to) {
  constexpr int kUnits = kDim / 8;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kElements / 8) to[i] = from[source_row(i / kUnits) * kUnits + i % kUnits];
}

// A block has eight positions of one batch: it reads them head by head, and stores them as one piece.
__global__ void axes_shared(const uint4* from, uint4* to) {
  constexpr int kUnits = kDim / 8, kGroup = 8;
  __shared__ uint4 piece[kGroup][kHeads][kUnits];
  const int position0 = blockIdx.x * kGroup, batch = blockIdx.y;
  for (int i = threadIdx.x; i < kGroup * kHeads * kUnits; i += blockDim.x) {
    const int unit = i % kUnits, position = i / kUnits % kGroup, head = i / (kUnits * kGroup);
    piece[position][head][unit] =
        from[((batch * kHeads + head) * kPositions + position0 + position) * kUnits + unit];
  }
  __syncthreads();
  const uint4* whole = &piece[0][0][0];
  for (int i = threadIdx.x; i < kGroup * kHeads * kUnits; i += blockDim.x)
    to[(batch * kPositions + position0) * kHeads * kUnits + i] = whole[i];
}

constexpr int kArrays = 8;

struct Arrays {
  const float* of[kArrays];
};

__global__ void append(const float* from, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

// A thread finds its array from its place in the result …
__global__ void join_by_division(Arrays arrays, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kArrays * count) to[i] = arrays.of[i / count][i % count];
}

// … or each array has its own row of blocks, and moves by 16 bytes.
__global__ void join_by_grid(Arrays arrays, float* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, units = count / 4;
  const auto* from = reinterpret_cast<const float4*>(arrays.of[blockIdx.y]);
  if (i < units) reinterpret_cast<float4*>(to)[blockIdx.y * units + i] = from[i];
}

using Cases = std::vector<bench::Case>;

void add_unpadding(Cases& cases) {
  const std::vector<bench::Buffer> buffers = {{size_t{kRows} * kPitch, bench::Fill::kBytes},
                                              {size_t{kRows} * kRowBytes, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned grid, unsigned block) {
    cases.push_back({"unpad_rows", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, block>>>(static_cast<const uint8_t*>(p[0]),
                                               static_cast<uint8_t*>(p[1]));
                     }});
  };
  add("unpad_thread_per_row", unpad_thread_per_row, kRows / 64, 64);
  add("unpad_warp_per_row", unpad_warp_per_row, kRows / 8, 256);
  add("unpad_block_per_row", unpad_block_per_row, kRows, 256);
  add("unpad_four_bytes_a_thread", unpad_four_bytes_a_thread,
      bench::blocks_for(size_t{kRows} * kRowBytes / 4, 256), 256);
}

void add_reversals(Cases& cases) {
  constexpr int kCount = 2 << 20;
  const std::vector<bench::Buffer> buffers = {{size_t{4} * kCount, bench::Fill::kFloats},
                                              {size_t{4} * kCount, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned grid) {
    cases.push_back({"reversals", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, 256>>>(static_cast<const float*>(p[0]), static_cast<float*>(p[1]),
                                             kCount);
                     }});
  };
  add("reverse_scalar", reverse_scalar, kCount / 256);
  add("reverse_wide", reverse_wide, kCount / 1024);
  add("reverse_shared", reverse_shared, kCount / 256);
}

void add_transposes(Cases& cases) {
  constexpr int kSide = 1024;
  const std::vector<bench::Buffer> buffers = {{size_t{2} * kSide * kSide, bench::Fill::kHalves},
                                              {size_t{2} * kSide * kSide, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, unsigned tile) {
    cases.push_back({"transposes_of_halves", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<dim3(kSide / tile, kSide / tile), dim3(32, 8)>>>(
                           static_cast<const __half*>(p[0]), static_cast<__half*>(p[1]), kSide);
                     }});
  };
  add("transpose_halves_naive", transpose_halves_naive, 32);
  add("transpose_halves_tile", transpose_halves_tile<0>, 32);
  add("transpose_halves_padded", transpose_halves_tile<2>, 32);
  add("transpose_halves_pairs", transpose_halves_pairs, 64);
}

void add_axes(Cases& cases) {
  const std::vector<bench::Buffer> buffers = {{size_t{2} * kElements, bench::Fill::kHalves},
                                              {size_t{2} * kElements, bench::Fill::kZero}};
  auto add = [&](const char* name, auto kernel, dim3 grid, auto unit) {
    using Unit = decltype(unit);
    cases.push_back({"exchange_of_axes", name, buffers, [=](const bench::Pointers& p) {
                       kernel<<<grid, 256>>>(static_cast<const Unit*>(p[0]), static_cast<Unit*>(p[1]));
                     }});
  };
  add("axes_scalar", axes_scalar, kElements / 256, __half{});
  add("axes_wide", axes_wide, kElements / 2048, uint4{});
  add("axes_shared", axes_shared, dim3(kPositions / 8, kBatch), uint4{});
}

void add_joins(Cases& cases) {
  constexpr int kCount = 20000;
  std::vector<bench::Buffer> buffers(kArrays, {size_t{4} * kCount, bench::Fill::kFloats});
  buffers.push_back({size_t{4} * kArrays * kCount, bench::Fill::kZero});
  cases.push_back({"joins", "join_eight_launches", buffers, [](const bench::Pointers& p) {
                     for (int i = 0; i < kArrays; ++i)
                       append<<<bench::blocks_for(kCount, 256), 256>>>(
                           static_cast<const float*>(p[i]), static_cast<float*>(p[kArrays]) + i * kCount,
                           kCount);
                   }});
  auto add = [&](const char* name, auto kernel, dim3 grid) {
    cases.push_back({"joins", name, buffers, [=](const bench::Pointers& p) {
                       Arrays arrays;
                       for (int i = 0; i < kArrays; ++i) arrays.of[i] = static_cast<const float*>(p[i]);
                       kernel<<<grid, 256>>>(arrays, static_cast<float*>(p[kArrays]), kCount);
                     }});
  };
  add("join_by_division", join_by_division, bench::blocks_for(size_t{kArrays} * kCount, 256));
  add("join_by_grid", join_by_grid, dim3(bench::blocks_for(kCount / 4, 256), kArrays));
}

}  // namespace

int main(int argc, char** argv) {
  Cases cases;
  add_unpadding(cases);
  add_reversals(cases);
  add_transposes(cases);
  add_axes(cases);
  add_joins(cases);
  return bench::main_of(argc, argv, cases);
}
