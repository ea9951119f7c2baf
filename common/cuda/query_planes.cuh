// Queries as bytes, for integer products: query = scale * (256 * high + low), both planes signed bytes. One
// plane alone would leave an error of about one per cent.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "attention_splits.cuh"

struct QueryPlanes {
  alignas(16) int8_t of[2][kRows][kMostDim];  // high, low
  float most[kRows];
  int sum[kRows];  // of 256 * high + low, over a row
};

// Splits the queries of a split's head; all threads of the block, kWarps warps, take part. Rows past the
// group and elements past the head are zeros. Element d goes to place(d) of its row. Returns the scale, one
// for all rows.
template <int kWarps, int kDims, class Place>
__device__ float split_queries(const Attention& job, const Split& split, QueryPlanes& planes, Place place) {
  constexpr int kEach = kDims / 32;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float values[kRows / kWarps][kEach];
#pragma unroll
  for (int i = 0; i < kRows / kWarps; ++i) {
    const int row = warp + i * kWarps;
    const __half* query = job.queries + row_of(job, split, row) * job.head_dim;
    float most = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int d = 32 * j + lane;
      values[i][j] = row < job.group && d < job.head_dim ? __half2float(query[d]) : 0.0f;
      most = fmaxf(most, fabsf(values[i][j]));
    }
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (lane == 0) planes.most[row] = most;
  }
  __syncthreads();
  float most = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) most = fmaxf(most, planes.most[row]);
  constexpr int kLargest = 127 * 256;
  const float scale = most == 0 ? 1.0f : most / kLargest, inverse = 1 / scale;
#pragma unroll
  for (int i = 0; i < kRows / kWarps; ++i) {
    const int row = warp + i * kWarps;
    int sum = 0;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const int whole = max(-kLargest, min(kLargest, __float2int_rn(values[i][j] * inverse)));
      const int high = (whole + 128) >> 8;
      planes.of[0][row][place(32 * j + lane)] = static_cast<int8_t>(high);
      planes.of[1][row][place(32 * j + lane)] = static_cast<int8_t>(whole - 256 * high);
      sum += whole;
    }
    sum = __reduce_add_sync(~0u, sum);
    if (lane == 0) planes.sum[row] = sum;
  }
  __syncthreads();
  return scale;
}
