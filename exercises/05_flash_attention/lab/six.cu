// Attention on the tensor cores: a warp has 16 rows, and while it works on one tile of keys and values the
// next is in flight into the other half of the buffer. Scores and output never leave the registers.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cp_async.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

constexpr int kDim = 64, kRowBytes = 2 * kDim, kPieces = kRowBytes / kPieceBytes;
constexpr int kTile = 32;  // rows of queries a block has, and keys a tile has
constexpr int kThreads = 2 * 32;
constexpr int kTileBytes = kTile * kRowBytes;
constexpr unsigned kAllLanes = ~0u;

__device__ void begin_load(uint8_t* tile, const __half* from, int64_t row_stride) {
  for (int i = threadIdx.x; i < kTile * kPieces; i += kThreads) {
    const int row = i / kPieces, piece = i % kPieces;
    copy_16_bytes_async(tile + swizzled<kRowBytes>(row, piece), from + row * row_stride + piece * 8);
  }
}

__device__ uint32_t pack(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

// Scores become weights relative to the highest so far; sum and output follow. `side` is one of two rows.
__device__ void weigh(float (&scores)[4][4], float (&out)[8][4], float& most, float& sum, float scale,
                      int side) {
  float highest = most;
  for (auto& tile : scores) highest = fmaxf(highest, scale * fmaxf(tile[2 * side], tile[2 * side + 1]));
  highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, 1));
  highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, 2));
  const float factor = __expf(most - highest);
  most = highest;
  sum *= factor;
  for (auto& tile : scores) {
    for (int i = 2 * side; i < 2 * side + 2; ++i) sum += tile[i] = __expf(scale * tile[i] - highest);
  }
  for (auto& tile : out) {
    for (int i = 2 * side; i < 2 * side + 2; ++i) tile[i] *= factor;
  }
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(128) uint8_t query_tile[kTileBytes], key_tiles[2][kTileBytes],
      value_tiles[2][kTileBytes];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim, head = blockIdx.y * kDim;
  const int64_t tile_stride = kTile * row_stride;
  const int tiles = length / kTile;

  begin_load(query_tile, queries + head + blockIdx.x * tile_stride, row_stride);
  begin_load(key_tiles[0], keys + head, row_stride);
  begin_load(value_tiles[0], values + head, row_stride);
  commit_copies();

  float total[8][4] = {}, most[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) {
      const int64_t next = head + (tile + 1) * tile_stride;
      begin_load(key_tiles[(tile + 1) % 2], keys + next, row_stride);
      begin_load(value_tiles[(tile + 1) % 2], values + next, row_stride);
      commit_copies();
    }
    wait_for_copies<0>();
    __syncthreads();  // all threads' parts of the tile are there

    float scores[4][4] = {};
    for (int step = 0; step < kDim / 16; ++step) {
      uint32_t a[4], b[4];
      load_matrices(a, query_tile + swizzled<kRowBytes>(16 * warp + lane % 16, 2 * step + lane / 16));
      for (int pair = 0; pair < kTile / 16; ++pair) {
        const int key = 16 * pair + lane % 8 + lane / 16 * 8;
        load_matrices(b, key_tiles[tile % 2] + swizzled<kRowBytes>(key, 2 * step + lane / 8 % 2));
        mma_f16(scores[2 * pair], a, b[0], b[1]);
        mma_f16(scores[2 * pair + 1], a, b[2], b[3]);
      }
    }
    for (int side = 0; side < 2; ++side) weigh(scores, total, most[side], sum[side], scale, side);
    for (int step = 0; step < kTile / 16; ++step) {
      const float (&left)[4] = scores[2 * step], (&right)[4] = scores[2 * step + 1];
      const uint32_t a[4] = {pack(left[0], left[1]), pack(left[2], left[3]), pack(right[0], right[1]),
                             pack(right[2], right[3])};
      for (int pair = 0; pair < kDim / 16; ++pair) {
        uint32_t b[4];
        load_matrices_turned(
            b, value_tiles[tile % 2] + swizzled<kRowBytes>(16 * step + lane % 16, 2 * pair + lane / 16));
        mma_f16(total[2 * pair], a, b[0], b[1]);
        mma_f16(total[2 * pair + 1], a, b[2], b[3]);
      }
    }
    __syncthreads();  // the tile after the next goes where this one is
  }

  for (int side = 0; side < 2; ++side) {
    float all = sum[side] + __shfl_xor_sync(kAllLanes, sum[side], 1);
    all += __shfl_xor_sync(kAllLanes, all, 2);
    const int row = 16 * warp + lane / 4 + 8 * side;
    float* to = out + head + blockIdx.x * tile_stride + row * row_stride + lane % 4 * 2;
    for (int i = 0; i < 8; ++i) {
      *reinterpret_cast<float2*>(to + 8 * i) = {total[i][2 * side] / all, total[i][2 * side + 1] / all};
    }
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kTile != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kTile, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
