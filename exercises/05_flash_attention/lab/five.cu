// Attention with eight threads per row, each with eight columns of the query and of the output in registers.
// Tiles come by asynchronous copies into two buffers in turn, so that one can be filled while the other is
// worked on.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cp_async.cuh"

constexpr int kDim = 64;
constexpr int kTile = 32;  // rows of queries a block has, and keys a tile has
constexpr int kPart = 8;   // columns a thread has: 16 bytes
constexpr int kParts = kDim / kPart;
constexpr int kThreads = kTile * kParts;  // each copies one piece of a tile
constexpr unsigned kAllLanes = ~0u;

struct Buffer {
  __half keys[kTile][kDim];
  __half values[kTile][kDim];
};

__device__ void read_part(float (&to)[kPart], const __half* from) {
  const uint4 piece = *reinterpret_cast<const uint4*>(from);
  const auto* pairs = reinterpret_cast<const __half2*>(&piece);
#pragma unroll
  for (int i = 0; i < kPart / 2; ++i) {
    const float2 pair = __half22float2(pairs[i]);
    to[2 * i] = pair.x;
    to[2 * i + 1] = pair.y;
  }
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) Buffer buffers[2];
  const int row = threadIdx.x / kParts, column = threadIdx.x % kParts * kPart;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim;
  const int64_t mine = blockIdx.y * kDim + row * row_stride + column;  // from the first row of a tile
  const int64_t block = blockIdx.x * kTile * row_stride;
  const int tiles = length / kTile;

  const auto fetch = [&](int tile) {
    if (tile < tiles) {
      const int64_t from = mine + tile * kTile * row_stride;
      Buffer& to = buffers[tile % 2];
      copy_16_bytes_async(&to.keys[row][column], keys + from);
      copy_16_bytes_async(&to.values[row][column], values + from);
      commit_copies();
    }
  };

  fetch(0);
  float query[kPart], total[kPart] = {}, most = -INFINITY, sum = 0;
  read_part(query, queries + block + mine);
#pragma unroll
  for (float& element : query) element *= scale;

  for (int tile = 0; tile < tiles; ++tile) {
    fetch(tile + 1);
    wait_for_copies<1>();  // the tile that was begun last stays in flight
    __syncthreads();
    const Buffer& here = buffers[tile % 2];
    for (int key = 0; key < kTile; ++key) {
      float part[kPart], score = 0;
      read_part(part, &here.keys[key][column]);
#pragma unroll
      for (int d = 0; d < kPart; ++d) score += query[d] * part[d];
      for (int other = 1; other < kParts; other *= 2) score += __shfl_xor_sync(kAllLanes, score, other);
      const float highest = fmaxf(most, score);
      const float factor = __expf(most - highest), weight = __expf(score - highest);
      most = highest;
      sum = sum * factor + weight;
      read_part(part, &here.values[key][column]);
#pragma unroll
      for (int d = 0; d < kPart; ++d) total[d] = total[d] * factor + weight * part[d];
    }
    __syncthreads();  // the tile after the next goes where this one is
  }

#pragma unroll
  for (int d = 0; d < kPart; d += 4) {
    *reinterpret_cast<float4*>(out + block + mine + d) =
        make_float4(total[d] / sum, total[d + 1] / sum, total[d + 2] / sum, total[d + 3] / sum);
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kTile != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kTile, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
