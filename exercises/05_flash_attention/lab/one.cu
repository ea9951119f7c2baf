// Attention with a warp for every few rows of queries. For a row, each lane scores one key of the tile and
// then sums up two of the 64 columns. Keys and values pass through shared memory, a tile of 32 at a time; the
// softmax is online, so no row of scores is ever complete.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kDim = 64;
constexpr int kRows = 32;  // of queries per block
constexpr int kKeys = 32;  // in a tile, one per lane
constexpr int kWarps = 6;
constexpr int kThreads = 32 * kWarps;
constexpr int kRowsPerWarp = (kRows + kWarps - 1) / kWarps;
constexpr int kPitch = kDim + 8;  // 16 bytes more, so that 8 rows of 16-byte pieces fall into 32 banks
constexpr int kPieces = kDim / 8;
constexpr unsigned kAllLanes = ~0u;

__device__ float dot(const __half* a, const __half* b) {
  float sum = 0;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const uint4 x = reinterpret_cast<const uint4*>(a)[piece], y = reinterpret_cast<const uint4*>(b)[piece];
    const auto *left = reinterpret_cast<const __half2*>(&x), *right = reinterpret_cast<const __half2*>(&y);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 u = __half22float2(left[i]), v = __half22float2(right[i]);
      sum += u.x * v.x + u.y * v.y;
    }
  }
  return sum;
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) __half key_tile[kKeys][kPitch], value_tile[kKeys][kPitch];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim;
  const int64_t head = blockIdx.y * kDim;
  const int first_row = blockIdx.x * kRows + warp * kRowsPerWarp;

  float most[kRowsPerWarp], sum[kRowsPerWarp] = {};
  float2 total[kRowsPerWarp] = {};
#pragma unroll
  for (float& value : most) value = -INFINITY;

  for (int first = 0; first < length; first += kKeys) {
    for (int i = threadIdx.x; i < kKeys * kPieces; i += kThreads) {
      const int key = i / kPieces, column = i % kPieces * 8;
      const int64_t from = head + (first + key) * row_stride + column;
      *reinterpret_cast<uint4*>(&key_tile[key][column]) = *reinterpret_cast<const uint4*>(keys + from);
      *reinterpret_cast<uint4*>(&value_tile[key][column]) = *reinterpret_cast<const uint4*>(values + from);
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRowsPerWarp; ++r) {
      const __half* query = queries + head + (first_row + r) * row_stride;
      const float score = scale * dot(query, key_tile[lane]);
      float highest = fmaxf(most[r], score);
      for (int other = 16; other > 0; other /= 2) {
        highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, other));
      }
      const float factor = __expf(most[r] - highest), weight = __expf(score - highest);
      most[r] = highest;
      sum[r] = sum[r] * factor + weight;  // of this lane's keys; the lanes' sums are added at the end
      total[r].x *= factor;
      total[r].y *= factor;
      for (int key = 0; key < kKeys; ++key) {
        const float w = __shfl_sync(kAllLanes, weight, key);
        const float2 v = __half22float2(*reinterpret_cast<const __half2*>(&value_tile[key][2 * lane]));
        total[r].x += w * v.x;
        total[r].y += w * v.y;
      }
    }
    __syncthreads();  // the next tile goes where this one is
  }

#pragma unroll
  for (int r = 0; r < kRowsPerWarp; ++r) {
    float all = sum[r];
    for (int other = 16; other > 0; other /= 2) all += __shfl_xor_sync(kAllLanes, all, other);
    float* to = out + head + (first_row + r) * row_stride + 2 * lane;
    *reinterpret_cast<float2*>(to) = make_float2(total[r].x / all, total[r].y / all);
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kRows != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kRows, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
