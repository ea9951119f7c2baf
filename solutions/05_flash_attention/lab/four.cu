// Attention with four threads per row, each with a quarter of the query and of the output in registers. They
// exchange data twice per key, to sum up its score. All rows of a warp read the same key
// at the same time, which costs shared memory one broadcast.
//
// All tensors are [length][heads][64].
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kDim = 64;
constexpr int kRows = 32;  // of queries per block
constexpr int kKeys = 32;  // in a tile
constexpr int kParts = 4;  // threads per row
constexpr int kPart = kDim / kParts;
constexpr int kThreads = kRows * kParts;
constexpr unsigned kAllLanes = ~0u;

// 16 elements, as numbers.
__device__ void read_part(float (&to)[kPart], const __half* from) {
  const auto* pieces = reinterpret_cast<const uint4*>(from);
#pragma unroll
  for (int i = 0; i < kPart / 8; ++i) {
    const uint4 piece = pieces[i];
    const auto* pairs = reinterpret_cast<const __half2*>(&piece);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 pair = __half22float2(pairs[j]);
      to[8 * i + 2 * j] = pair.x;
      to[8 * i + 2 * j + 1] = pair.y;
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                     int length, float scale) {
  __shared__ __align__(16) __half key_tile[kKeys][kDim], value_tile[kKeys][kDim];
  const int head = blockIdx.y;
  const int row = blockIdx.x * kRows + threadIdx.x / kParts;
  const int column = threadIdx.x % kParts * kPart;
  const int64_t mine = (static_cast<int64_t>(row) * heads + head) * kDim + column;

  float query[kPart], total[kPart] = {};
  float most = -INFINITY, sum = 0;
  read_part(query, queries + mine);
#pragma unroll
  for (float& element : query) element *= scale;

  for (int first = 0; first < length; first += kKeys) {
    for (int i = threadIdx.x; i < kKeys * kDim / 8; i += kThreads) {
      const int key = i / (kDim / 8), at = i % (kDim / 8) * 8;
      const int64_t key_row = static_cast<int64_t>(first + key) * heads + head;
      const int64_t value_row = key_row;
      *reinterpret_cast<uint4*>(&key_tile[key][at]) =
          *reinterpret_cast<const uint4*>(keys + key_row * kDim + at);
      *reinterpret_cast<uint4*>(&value_tile[key][at]) =
          *reinterpret_cast<const uint4*>(values + value_row * kDim + at);
    }
    __syncthreads();
    for (int key = 0; key < kKeys; ++key) {
      float part[kPart], score = 0;
      read_part(part, &key_tile[key][column]);
#pragma unroll
      for (int d = 0; d < kPart; ++d) score += query[d] * part[d];
      score += __shfl_xor_sync(kAllLanes, score, 1);
      score += __shfl_xor_sync(kAllLanes, score, 2);
      const float highest = fmaxf(most, score);
      const float factor = __expf(most - highest), weight = __expf(score - highest);
      most = highest;
      sum = sum * factor + weight;
      read_part(part, &value_tile[key][column]);
#pragma unroll
      for (int d = 0; d < kPart; ++d) total[d] = total[d] * factor + weight * part[d];
    }
    __syncthreads();  // the next tile goes where this one is
  }

#pragma unroll
  for (int d = 0; d < kPart; d += 4) {
    *reinterpret_cast<float4*>(out + mine + d) =
        make_float4(total[d] / sum, total[d + 1] / sum, total[d + 2] / sum, total[d + 3] / sum);
  }
}

extern "C" int attend(const __half* queries, const __half* keys, const __half* values, float* out, int heads,
                      int length, float scale, cudaStream_t stream) {
  if (heads < 1 || length < 1 || length % kRows != 0) return cudaErrorInvalidValue;
  const dim3 grid(length / kRows, heads);
  attention_kernel<<<grid, kThreads, 0, stream>>>(queries, keys, values, out, heads, length, scale);
  return cudaGetLastError();
}
