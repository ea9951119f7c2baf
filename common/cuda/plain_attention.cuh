// A warp's share of a split for any head size and any width, element by element: right, and not fast.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "attention_splits.cuh"
#include "query_planes.cuh"

// What is known of a row once a warp is through: exponents are powers of two.
struct RowStats {
  float reference;  // what the output and the sum are relative to
  float sum;        // of the weights
  float most;       // the highest score
};

// Element `index` of a packed row, as the quantised number it stands for.
__device__ inline int packed_element(const uint8_t* row, int index, int bits) {
  const int bit = index * bits;
  int found = row[bit / 8] >> bit % 8;
  if (bit % 8 + bits > 8) found |= row[bit / 8 + 1] << (8 - bit % 8);
  return (found & ((1 << bits) - 1)) - stored_offset(bits);
}

// A lane takes a key for the scores, and every 32nd element for the output.
template <int kWarps>
struct PlainAttention {
  const Attention& job;
  const Split& split;
  const Bucket& bucket;
  const QueryPlanes& planes;
  float (&weights)[kRows][32];  // shared memory of this warp
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int bits, size;
  const int64_t head;
  float score_scale;

  float out[kRows][kMostDim / 32] = {};
  RowStats stats[kRows];

  __device__ PlainAttention(const Attention& job, const Split& split, const QueryPlanes& planes,
                            float query_scale, float (&weights)[kRows][32])
      : job(job),
        split(split),
        bucket(job.buckets[split.bucket]),
        planes(planes),
        weights(weights),
        bits(static_cast<int>(bucket.bits)),
        size(row_bytes(bits, job.head_dim)),
        head(first_entry(job, split)),
        score_scale(query_scale * job.scale) {
#pragma unroll
    for (RowStats& row : stats) row = {-INFINITY, 0, -INFINITY};
  }

  __device__ void run() {
    for (int first = split.begin + 32 * warp; first < split.end; first += 32 * kWarps) attend(first);
#pragma unroll
    for (RowStats& row : stats) {
      for (int step = 16; step > 0; step /= 2) row.sum += __shfl_xor_sync(~0u, row.sum, step);
    }
  }

  // This warp's output, [group][head_dim], relative to another reference for each row.
  template <class References>
  __device__ void store(float* outputs, const References& reference_of) const {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row >= job.group) continue;
      const float factor = power_of_2(stats[row].reference - finite(reference_of(row)));
#pragma unroll
      for (int i = 0; i < kMostDim / 32; ++i) {
        const int d = 32 * i + lane;
        if (d < job.head_dim) outputs[row * job.head_dim + d] = factor * out[row][i];
      }
    }
  }

 private:
  // 32 keys from entry `first` on.
  __device__ void attend(int first) {
    const int entry = first + lane;
    const bool visible = is_visible(job, split, entry);
    const float key_scale = visible ? scale_at(bucket.key_scales, head + entry, bucket.scale_bytes) : 0;
    const float value_scale = visible ? scale_at(bucket.value_scales, head + entry, bucket.scale_bytes) : 0;
    const uint8_t* key = bucket.keys + (head + entry) * size;
    int high[kRows] = {}, low[kRows] = {};
    for (int d = 0; visible && d < job.head_dim; ++d) {
      const int value = packed_element(key, d, bits);
#pragma unroll
      for (int row = 0; row < kRows; ++row) {
        high[row] += planes.of[0][row][d] * value;
        low[row] += planes.of[1][row][d] * value;
      }
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      const float whole = static_cast<float>(256 * high[row] + low[row]);
      const float score = visible ? whole * score_scale * key_scale : -INFINITY;
      if (job.scores != nullptr && row < job.group && entry < split.end) {
        *score_place(job, split, row, entry) = score;
      }
      float highest = score;
      for (int step = 16; step > 0; step /= 2) highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, step));
      RowStats& now = stats[row];
      now.most = fmaxf(now.most, highest);
      const float factor = power_of_2(now.reference - finite(now.most));
      now.reference = now.most;
      const float weight = power_of_2(score - finite(now.reference));
      now.sum = now.sum * factor + weight;
      weights[row][lane] = weight * value_scale;
#pragma unroll
      for (float& element : out[row]) element *= factor;
    }
    __syncwarp();
    const int keys = min(32, split.end - first);
    for (int i = 0; i < keys; ++i) {
      const uint8_t* value = bucket.values + (head + first + i) * size;
#pragma unroll
      for (int j = 0; j < kMostDim / 32; ++j) {
        const int d = 32 * j + lane;
        if (d >= job.head_dim) continue;
        const auto number = static_cast<float>(packed_element(value, d, bits));
#pragma unroll
        for (int row = 0; row < kRows; ++row) out[row][j] += weights[row][i] * number;
      }
    }
    __syncwarp();
  }
};
