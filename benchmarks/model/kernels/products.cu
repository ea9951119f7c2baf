// Products with a matrix of floats by a vector and by a few rows, and of halves through the wmma API.
#include <mma.h>

#include "bench.cuh"

namespace {

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

// y = A x with A row-major.
__global__ void thread_per_row(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += a[row * columns + i] * x[i];
  y[row] = sum;
}

__global__ void warp_per_row(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int i = lane; i < columns; i += 32) sum += a[row * columns + i] * x[i];
  sum = warp_sum(sum);
  if (lane == 0) y[row] = sum;
}

__global__ void warp_per_row_wide(const float* a, const float* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const auto* a_units = reinterpret_cast<const float4*>(a + row * columns);
  const auto* x_units = reinterpret_cast<const float4*>(x);
  float sum = 0;
  for (int i = lane; i < columns / 4; i += 32) {
    const float4 left = a_units[i], right = x_units[i];
    sum += left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
  }
  sum = warp_sum(sum);
  if (lane == 0) y[row] = sum;
}

__global__ void block_per_row(const float* a, const float* x, float* y, int, int columns) {
  __shared__ float parts[256];
  const int row = blockIdx.x;
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) sum += a[row * columns + i] * x[i];
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) parts[threadIdx.x] += parts[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[row] = parts[0];
}

// C = A B with few rows in A and C; n columns in B and C, `depth` rows in B.
__global__ void skinny_naive(const float* a, const float* b, float* c, int n, int depth) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[k * n + column];
  c[row * n + column] = sum;
}

__global__ void skinny_tiled(const float* a, const float* b, float* c, int n, int depth) {
  __shared__ float a_tile[16][16], b_tile[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float sum = 0;
  for (int k0 = 0; k0 < depth; k0 += 16) {
    a_tile[ty][tx] = a[row * depth + k0 + tx];
    b_tile[ty][tx] = b[(k0 + ty) * n + column];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 16; ++k) sum += a_tile[ty][k] * b_tile[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// A block of 16 x 16 threads has 64 rows and 32 columns, a thread four rows and two columns of them.
__global__ void skinny_registers(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, int n, int depth) {
  constexpr int kRows = 64, kColumns = 32, kDepth = 32;
  __shared__ float a_tile[kRows][kDepth + 1], b_tile[kDepth][kColumns];
  const int tx = threadIdx.x, ty = threadIdx.y, thread = ty * 16 + tx;
  const int column0 = blockIdx.x * kColumns, row0 = blockIdx.y * kRows;
  float sum[4][2] = {};
  for (int k0 = 0; k0 < depth; k0 += kDepth) {
    for (int i = thread; i < kRows * kDepth; i += 256)
      a_tile[i / kDepth][i % kDepth] = a[(row0 + i / kDepth) * depth + k0 + i % kDepth];
    for (int i = thread; i < kDepth * kColumns; i += 256)
      b_tile[i / kColumns][i % kColumns] = b[(k0 + i / kColumns) * n + column0 + i % kColumns];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const float right[2] = {b_tile[k][tx], b_tile[k][tx + 16]};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float left = a_tile[ty + 16 * i][k];
        sum[i][0] += left * right[0];
        sum[i][1] += left * right[1];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) c[(row0 + ty + 16 * i) * n + column0 + tx + 16 * j] = sum[i][j];
}

namespace wmma = nvcuda::wmma;
using LeftFragment = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
using RightFragment = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major>;
using SumFragment = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

// A warp has one 16 x 16 tile of C and loads its fragments from global memory.
__global__ void wmma_tile_per_warp(const __half* a, const __half* b, float* c, int n) {
  const int row = blockIdx.y * 32 + threadIdx.y / 2 * 16, column = blockIdx.x * 32 + threadIdx.y % 2 * 16;
  LeftFragment left;
  RightFragment right;
  SumFragment sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(left, a + row * n + k, n);
    wmma::load_matrix_sync(right, b + k * n + column, n);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

// A warp has 2 x 2 tiles: every fragment is used twice.
__global__ void wmma_four_tiles_per_warp(const __half* a, const __half* b, float* c, int n) {
  const int row = blockIdx.y * 64 + threadIdx.y / 2 * 32, column = blockIdx.x * 64 + threadIdx.y % 2 * 32;
  SumFragment sum[2][2];
  for (auto& line : sum)
    for (auto& tile : line) wmma::fill_fragment(tile, 0.0f);
  for (int k = 0; k < n; k += 16) {
    LeftFragment left[2];
    RightFragment right[2];
    for (int i = 0; i < 2; ++i) {
      wmma::load_matrix_sync(left[i], a + (row + 16 * i) * n + k, n);
      wmma::load_matrix_sync(right[i], b + k * n + column + 16 * i, n);
    }
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(c + (row + 16 * i) * n + column + 16 * j, sum[i][j], n, wmma::mem_row_major);
}

// As above, with the block's 64 x 64 tile fed from shared memory.
template <int kPad>
__global__ void wmma_staged(const __half* a, const __half* b, float* c, int n) {
  constexpr int kTile = 64, kDepth = 32;
  __shared__ __align__(32) __half a_tile[kTile][kDepth + kPad];
  __shared__ __align__(32) __half b_tile[kDepth][kTile + kPad];
  const int thread = threadIdx.y * 32 + threadIdx.x;
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile;
  const int warp_row = threadIdx.y / 2 * 32, warp_column = threadIdx.y % 2 * 32;
  SumFragment sum[2][2];
  for (auto& line : sum)
    for (auto& tile : line) wmma::fill_fragment(tile, 0.0f);
  for (int k0 = 0; k0 < n; k0 += kDepth) {
    for (int unit = thread; unit < kTile * kDepth / 8; unit += 128) {
      *reinterpret_cast<uint4*>(&a_tile[unit / 4][unit % 4 * 8]) =
          *reinterpret_cast<const uint4*>(a + (row0 + unit / 4) * n + k0 + unit % 4 * 8);
      *reinterpret_cast<uint4*>(&b_tile[unit / 8][unit % 8 * 8]) =
          *reinterpret_cast<const uint4*>(b + (k0 + unit / 8) * n + column0 + unit % 8 * 8);
    }
    __syncthreads();
    for (int k = 0; k < kDepth; k += 16) {
      LeftFragment left[2];
      RightFragment right[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(left[i], &a_tile[warp_row + 16 * i][k], kDepth + kPad);
        wmma::load_matrix_sync(right[i], &b_tile[k][warp_column + 16 * i], kTile + kPad);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(c + (row0 + warp_row + 16 * i) * n + column0 + warp_column + 16 * j, sum[i][j],
                              n, wmma::mem_row_major);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Case> cases;
  for (const auto& [rows, columns] : {std::pair{256, 1024}, {2048, 2048}}) {
    const std::string size = "_" + std::to_string(rows) + "x" + std::to_string(columns);
    const std::vector<bench::Buffer> buffers = {{size_t{4} * rows * columns, bench::Fill::kFloats},
                                                {size_t{4} * columns, bench::Fill::kFloats},
                                                {size_t{4} * rows, bench::Fill::kZero}};
    auto add = [&, rows = rows, columns = columns](const char* name, auto kernel, int rows_per_block,
                                                   unsigned block) {
      cases.push_back({"matvec" + size, name + size, buffers, [=](const bench::Pointers& p) {
                         kernel<<<rows / rows_per_block, block>>>(static_cast<const float*>(p[0]),
                                                                  static_cast<const float*>(p[1]),
                                                                  static_cast<float*>(p[2]), rows, columns);
                       }});
    };
    add("matvec_thread_per_row", thread_per_row, 128, 128);
    add("matvec_warp_per_row", warp_per_row, 4, 128);
    add("matvec_warp_per_row_wide", warp_per_row_wide, 4, 128);
    add("matvec_block_per_row", block_per_row, 1, 256);
  }
  constexpr int kRows = 64, kSide = 1024;
  const std::vector<bench::Buffer> skinny = {{size_t{4} * kRows * kSide, bench::Fill::kFloats},
                                             {size_t{4} * kSide * kSide, bench::Fill::kFloats},
                                             {size_t{4} * kRows * kSide, bench::Fill::kZero}};
  auto add_skinny = [&](const char* name, auto kernel, dim3 tile) {
    cases.push_back({"matmul_skinny", name, skinny, [=](const bench::Pointers& p) {
                       kernel<<<dim3(kSide / tile.x, kRows / tile.y), dim3(16, 16)>>>(
                           static_cast<const float*>(p[0]), static_cast<const float*>(p[1]),
                           static_cast<float*>(p[2]), kSide, kSide);
                     }});
  };
  add_skinny("matmul_skinny_naive", skinny_naive, dim3(16, 16));
  add_skinny("matmul_skinny_tiled", skinny_tiled, dim3(16, 16));
  add_skinny("matmul_skinny_registers", skinny_registers, dim3(32, 64));
  constexpr int kHalfSide = 512;
  constexpr size_t kElements = size_t{kHalfSide} * kHalfSide;
  const std::vector<bench::Buffer> halves = {{2 * kElements, bench::Fill::kHalves},
                                             {2 * kElements, bench::Fill::kHalves},
                                             {4 * kElements, bench::Fill::kZero}};
  auto add_wmma = [&](const char* name, auto kernel, unsigned tile) {
    cases.push_back({"matmul_wmma", name, halves, [=](const bench::Pointers& p) {
                       kernel<<<dim3(kHalfSide / tile, kHalfSide / tile), dim3(32, 4)>>>(
                           static_cast<const __half*>(p[0]), static_cast<const __half*>(p[1]),
                           static_cast<float*>(p[2]), kHalfSide);
                     }});
  };
  add_wmma("matmul_wmma_tile_per_warp", wmma_tile_per_warp, 32);
  add_wmma("matmul_wmma_four_tiles_per_warp", wmma_four_tiles_per_warp, 64);
  add_wmma("matmul_wmma_staged", wmma_staged<0>, 64);
  add_wmma("matmul_wmma_staged_padded", wmma_staged<16>, 64);
  return bench::main_of(argc, argv, cases);
}
