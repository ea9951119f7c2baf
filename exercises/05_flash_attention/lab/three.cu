// Attention whose tiles come by asynchronous copies, 16 bytes each, without registers. A lane scores one key
// by itself, so the lanes of a warp read the same columns of 32 rows; the rows of the tiles are a little
// longer than necessary, because with 128 bytes each they would all begin in the same bank.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cp_async.cuh"

constexpr int kDim = 64;
constexpr int kTile = 32;  // rows of queries a block has, and keys a tile has
constexpr int kWarps = 8;
constexpr int kThreads = 32 * kWarps;
constexpr int kRowsPerWarp = kTile / kWarps;
constexpr int kPadding = 1;
constexpr unsigned kAllLanes = ~0u;

using Tile = __half[kTile][kDim + kPadding];

// Every thread begins one copy: 32 rows of 8 pieces.
__device__ void begin_load(Tile& tile, const __half* from, int64_t row_stride) {
  static_assert(kThreads == kTile * kDim / 8);
  const int row = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
  copy_16_bytes_async(&tile[row][column], from + row * row_stride + column);
}

// Eight elements of each at a time.
__device__ float dot(const __half* a, const __half* b) {
  float2 sum = {0, 0};
#pragma unroll
  for (int column = 0; column < kDim; column += 8) {
    const auto x = *reinterpret_cast<const uint4*>(a + column),
               y = *reinterpret_cast<const uint4*>(b + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 u = __half22float2(reinterpret_cast<const __half2*>(&x)[i]);
      const float2 v = __half22float2(reinterpret_cast<const __half2*>(&y)[i]);
      sum.x += u.x * v.x;
      sum.y += u.y * v.y;
    }
  }
  return sum.x + sum.y;
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) Tile query_tile, key_tile, value_tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim;
  const int64_t head = blockIdx.y * kDim;
  const int64_t block = blockIdx.x * kTile * row_stride;

  float most[kRowsPerWarp], sum[kRowsPerWarp];
  float low[kRowsPerWarp], high[kRowsPerWarp];  // columns lane and lane + 32 of the output
#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) {
    most[r] = -INFINITY;
    sum[r] = low[r] = high[r] = 0;
  }

  begin_load(query_tile, queries + head + block, row_stride);
  for (int first = 0; first < length; first += kTile) {
    begin_load(key_tile, keys + head + first * row_stride, row_stride);
    begin_load(value_tile, values + head + first * row_stride, row_stride);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();  // the copies of all threads have landed
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const int row = warp * kRowsPerWarp + r;
      const float score = scale * dot(query_tile[row], key_tile[lane]);
      float highest = fmaxf(most[r], score);
      for (int other = 16; other > 0; other /= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, other));
      }
      const float factor = __expf(most[r] - highest), weight = __expf(score - highest);
      most[r] = highest;
      sum[r] = sum[r] * factor + weight;
      low[r] *= factor;
      high[r] *= factor;
      for (int key = 0; key < kTile; ++key) {
        const float w = __shfl_sync(kAllLanes, weight, key);
        low[r] += w * __half2float(value_tile[key][lane]);
        high[r] += w * __half2float(value_tile[key][lane + 32]);
      }
    }
    __syncthreads();  // no warp needs this tile any more
  }

#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) {
    float all = sum[r];
    for (int other = 16; other > 0; other /= 2) all += __shfl_xor_sync(kAllLanes, all, other);
    float* to = out + head + block + (warp * kRowsPerWarp + r) * row_stride;
    to[lane] = low[r] / all;
    to[lane + 32] = high[r] / all;
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kTile != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kTile, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
