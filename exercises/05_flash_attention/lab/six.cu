// Attention with eight threads per row, which take four keys at a time: one highest score for the four, and
// one change of the sums. While a block works on one tile of keys and values the next is in flight into the
// other half of the buffer.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cp_async.cuh"

constexpr int kDim = 64;
constexpr int kRows = 16, kKeys = 32;  // of queries in a block, of keys in a tile
constexpr int kSharers = 8, kPairs = kDim / kSharers / 2;
constexpr int kFour = 4;  // keys that are taken at a time
constexpr int kThreads = kRows * kSharers;
constexpr unsigned kAllLanes = ~0u;

struct Tile {
  __half keys[kKeys][kDim];
  __half values[kKeys][kDim];
};

// Pieces of 16 bytes, eight in a row: each thread copies two of the keys and two of the values.
__device__ void begin_load(Tile& tile, const __half* keys, const __half* values, int64_t row_stride) {
  const int column = threadIdx.x % 8 * 8;
  for (int row = threadIdx.x / 8; row < kKeys; row += kThreads / 8) {
    copy_16_bytes_async(&tile.keys[row][column], keys + row * row_stride + column);
    copy_16_bytes_async(&tile.values[row][column], values + row * row_stride + column);
  }
}

// A thread's columns are pairs: 2 i + 16 j of sharer i, so that the eight read neighbouring words.
__device__ float2 pair_at(const __half* row, int sharer, int j) {
  return __half22float2(*reinterpret_cast<const __half2*>(row + 2 * sharer + 16 * j));
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) Tile tiles[2];
  const int row = threadIdx.x / kSharers, sharer = threadIdx.x % kSharers;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim, head = blockIdx.y * kDim;
  const int64_t mine = head + (blockIdx.x * kRows + row) * row_stride;
  const int64_t tile_stride = kKeys * row_stride;
  const int count = length / kKeys;

  begin_load(tiles[0], keys + head, values + head, row_stride);
  commit_copies();

  float2 query[kPairs], total[kPairs] = {};
  float most = -INFINITY, sum = 0;
#pragma unroll
  for (int j = 0; j < kPairs; ++j) query[j] = pair_at(queries + mine, sharer, j);

  for (int i = 0; i < count; ++i) {
    if (i + 1 < count) {
      const int64_t next = head + (i + 1) * tile_stride;
      begin_load(tiles[(i + 1) % 2], keys + next, values + next, row_stride);
      commit_copies();
    }
    wait_for_copies<0>();
    __syncthreads();  // all threads' parts of the tile are there

    const Tile& here = tiles[i % 2];
    for (int key = 0; key < kKeys; key += kFour) {
      float scores[kFour] = {}, highest = most, added = 0;
#pragma unroll
      for (int k = 0; k < kFour; ++k) {
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const float2 pair = pair_at(here.keys[key + k], sharer, j);
          scores[k] += query[j].x * pair.x + query[j].y * pair.y;
        }
        for (int other = 1; other < kSharers; other *= 2)
          scores[k] += __shfl_xor_sync(kAllLanes, scores[k], other);
        highest = fmaxf(highest, scale * scores[k]);
      }
      const float factor = __expf(most - highest);
      most = highest;
#pragma unroll
      for (float2& pair : total) pair = {pair.x * factor, pair.y * factor};
#pragma unroll
      for (int k = 0; k < kFour; ++k) {
        const float weight = __expf(scale * scores[k] - highest);
        added += weight;
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const float2 pair = pair_at(here.values[key + k], sharer, j);
          total[j] = {total[j].x + weight * pair.x, total[j].y + weight * pair.y};
        }
      }
      sum = sum * factor + added;
    }
    __syncthreads();  // the tile after the next goes where this one is
  }

#pragma unroll
  for (int j = 0; j < kPairs; ++j) {
    *reinterpret_cast<float2*>(out + mine + 2 * sharer + 16 * j) = {total[j].x / sum, total[j].y / sum};
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kKeys != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kRows, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
