// Attention with the queries in registers: a warp has one row at a time, and its 32 lanes share out the row's
// 64 elements, two each, of the query as of the output. A lane scores one key of the tile.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kDim = 64;
constexpr int kKeys = 32;  // in a tile, one per lane
constexpr int kWarps = 16;
constexpr int kRows = kWarps;  // of queries per block: one per warp
constexpr int kThreads = 32 * kWarps;
constexpr int kPerLane = kDim / 32;
constexpr int kPitch = kDim + 8;  // 16 bytes more, so that 8 rows of 16-byte pieces fall into 32 banks
constexpr unsigned kAllLanes = ~0u;

// The first half of the threads copies the keys of a tile, the other its values, 16 bytes each.
__device__ void load_tiles(__half (*key_tile)[kPitch], __half (*value_tile)[kPitch], const __half* keys,
                           const __half* values, int64_t row_stride) {
  constexpr int kPieces = kDim / 8;
  static_assert(kThreads == 2 * kKeys * kPieces);
  const int i = threadIdx.x % (kThreads / 2), row = i / kPieces, column = i % kPieces * 8;
  const bool has_keys = threadIdx.x < kThreads / 2;
  const __half* from = (has_keys ? keys : values) + row * row_stride + column;
  __half* to = &(has_keys ? key_tile : value_tile)[row][column];
  *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) __half key_tile[kKeys][kPitch], value_tile[kKeys][kPitch];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int64_t row_stride = static_cast<int64_t>(heads) * kDim;
  const int64_t head = blockIdx.y * kDim;
  const int64_t mine = head + (blockIdx.x * kRows + warp) * row_stride + lane * kPerLane;

  const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(queries + mine));
  const float query[kPerLane] = {pair.x * scale, pair.y * scale};
  float most = -INFINITY, sum = 0, total[kPerLane] = {};

  for (int first = 0; first < length; first += kKeys) {
    const int64_t tile = head + first * row_stride;
    load_tiles(key_tile, value_tile, keys + tile, values + tile, row_stride);
    __syncthreads();

    float score = 0;
#pragma unroll
    for (int column = 0; column < kDim; column += 8) {
      const uint4 piece = *reinterpret_cast<const uint4*>(&key_tile[lane][column]);
      const auto* elements = reinterpret_cast<const __half*>(&piece);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float q = __shfl_sync(kAllLanes, query[i % kPerLane], (column + i) / kPerLane);
        score += q * __half2float(elements[i]);
      }
    }

    float highest = fmaxf(most, score);
    for (int other = 16; other > 0; other /= 2) {
      highest = fmaxf(highest, __shfl_xor_sync(kAllLanes, highest, other));
    }
    const float factor = __expf(most - highest), weight = __expf(score - highest);
    most = highest;
    sum = sum * factor + weight;  // of this lane's keys; the lanes' sums are added at the end
#pragma unroll
    for (float& element : total) element *= factor;
    for (int key = 0; key < kKeys; ++key) {
      const float w = __shfl_sync(kAllLanes, weight, key);
      const auto value = *reinterpret_cast<const __half2*>(&value_tile[key][lane * kPerLane]);
      total[0] += w * __low2float(value);
      total[1] += w * __high2float(value);
    }
    __syncthreads();  // the next tile goes where this one is
  }

  for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(kAllLanes, sum, other);
  *reinterpret_cast<float2*>(out + mine) = make_float2(total[0] / sum, total[1] / sum);
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kKeys != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kRows, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
