// Attention with the queries of a block in shared memory too. A warp has eight rows and keeps, for each of
// them, the highest score so far, the sum of the weights and two columns per lane of the output: all of the
// softmax's state stays with the warp, and nothing of it is in shared memory.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kDim = 64;
constexpr int kTile = 32;  // rows of queries a block has, and keys a tile has
constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kRowsPerWarp = kTile / kWarps;
constexpr int kPitch = kDim + 8;  // rows of 16-byte pieces in different banks
constexpr unsigned kAllLanes = ~0u;

struct Tile {
  __half rows[kTile][kPitch];
};

struct RowState {
  float most = -INFINITY;  // the highest score so far
  float sum = 0;           // of this lane's weights, relative to it
  float2 columns = {0, 0};
};

__device__ void load(Tile& tile, const __half* from, int64_t row_stride) {
  constexpr int kPieces = kDim / 8;
  for (int i = threadIdx.x; i < kTile * kPieces; i += kThreads) {
    const int row = i / kPieces, column = i % kPieces * 8;
    *reinterpret_cast<uint4*>(&tile.rows[row][column]) =
        *reinterpret_cast<const uint4*>(from + row * row_stride + column);
  }
}

__device__ float dot(const __half* a, const __half* b) {
  float sum = 0;
  for (int column = 0; column < kDim; column += 8) {
    const uint4 x = *reinterpret_cast<const uint4*>(a + column),
                y = *reinterpret_cast<const uint4*>(b + column);
    for (int i = 0; i < 4; ++i) {
      const float2 u = __half22float2(reinterpret_cast<const __half2*>(&x)[i]);
      const float2 v = __half22float2(reinterpret_cast<const __half2*>(&y)[i]);
      sum = fmaf(u.x, v.x, fmaf(u.y, v.y, sum));
    }
  }
  return sum;
}

__device__ float highest_of_warp(float value) {
  for (int other = 16; other > 0; other /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, other));
  }
  return value;
}

__device__ float sum_of_warp(float value) {
  for (int other = 16; other > 0; other /= 2) value += __shfl_xor_sync(kAllLanes, value, other);
  return value;
}

// What one tile adds to a row whose query is given.
__device__ void attend_to_tile(RowState& state, const __half* query, const Tile& keys, const Tile& values,
                               float scale) {
  const int lane = threadIdx.x % 32;
  const float score = scale * dot(query, keys.rows[lane]);
  const float highest = fmaxf(state.most, highest_of_warp(score));
  const float factor = __expf(state.most - highest), weight = __expf(score - highest);
  state.most = highest;
  state.sum = state.sum * factor + weight;
  float2 added = {0, 0};
  for (int key = 0; key < kTile; ++key) {
    const float w = __shfl_sync(kAllLanes, weight, key);
    const float2 v = __half22float2(*reinterpret_cast<const __half2*>(&values.rows[key][2 * lane]));
    added.x += w * v.x;
    added.y += w * v.y;
  }
  state.columns.x = state.columns.x * factor + added.x;
  state.columns.y = state.columns.y * factor + added.y;
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) Tile query_tile, key_tile, value_tile;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim;
  const int64_t head = blockIdx.y * kDim, block = blockIdx.x * kTile * row_stride;
  RowState states[kRowsPerWarp];

  load(query_tile, queries + head + block, row_stride);
  for (int first = 0; first < length; first += kTile) {
    load(key_tile, keys + head + first * row_stride, row_stride);
    load(value_tile, values + head + first * row_stride, row_stride);
    __syncthreads();
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const int row = warp * kRowsPerWarp + r;
      attend_to_tile(states[r], query_tile.rows[row], key_tile, value_tile, scale);
    }
    __syncthreads();  // the next tile goes where this one is
  }

  for (int r = 0; r < kRowsPerWarp; ++r) {
    const int row = warp * kRowsPerWarp + r;
    const float sum = sum_of_warp(states[r].sum);
    float* to = out + head + block + row * row_stride + 2 * lane;
    *reinterpret_cast<float2*>(to) = make_float2(states[r].columns.x / sum, states[r].columns.y / sum);
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kTile != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kTile, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
