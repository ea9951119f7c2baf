// Attention over buckets, cut into splits: a split is a range of entries of one bucket, for one head of one
// sequence. What a block makes of it is a part: an output that is not normalised, the sum of its weights, and
// the exponent that both are relative to. Who cuts is even_splits.cuh.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "buckets.cuh"

constexpr int kRows = 8;  // query rows that share a key, at most
constexpr int kMostDim = 256;
constexpr int kMostBatch = 128;  // sequences of a launch: their lengths are a parameter
constexpr int kMostParts = 192;  // of a row

// What all blocks need to know, as a parameter. What every block reads comes first: parameters come through a
// cache in lines of 64 bytes, and from cold memory each line is a wait.
struct Attention {
  const __half* queries;  // [batch][kv_heads][group][head_dim]
  const uint8_t* mask;    // [batch][mask_stride] by slot, or null
  int64_t mask_stride;
  float* scores;  // [rows][score_stride], to be kept for weigh_keys(), or null
  int64_t rows;   // batch * kv_heads * group
  int batch, kv_heads, group, head_dim;
  float scale;  // of the scores, times log2(e): weights are powers of two
  int parts;    // of each row
  Bucket buckets[kMostBuckets];
  int lengths[kMostBatch][kMostBuckets];
  int64_t score_stride;  // all buckets' capacities
  int64_t first_score[kMostBuckets];
};
static_assert(offsetof(Attention, buckets) == 64 && sizeof(Bucket) == 64);

struct Split {
  int bucket, sequence, head;
  int part;        // which of its rows'
  int begin, end;  // entries; there may be none
};

// Row `row` of a split's head among all rows.
__device__ inline int64_t row_of(const Attention& job, const Split& split, int row) {
  return (int64_t{split.sequence} * job.kv_heads + split.head) * job.group + row;
}

// Where the split's sequence and head begin in a bucket, in entries.
__device__ inline int64_t first_entry(const Attention& job, const Split& split) {
  return (int64_t{split.sequence} * job.kv_heads + split.head) * job.buckets[split.bucket].capacity;
}

__device__ inline bool is_visible(const Attention& job, const Split& split, int entry) {
  if (entry >= split.end) return false;
  if (job.mask == nullptr) return true;
  const Bucket& bucket = job.buckets[split.bucket];
  return job.mask[split.sequence * job.mask_stride +
                  bucket.slots[split.sequence * bucket.capacity + entry]] != 0;
}

// Where the score of an entry is kept.
__device__ inline float* score_place(const Attention& job, const Split& split, int row, int entry) {
  return job.scores + row_of(job, split, row) * job.score_stride + job.first_score[split.bucket] + entry;
}

// Exponents are relative to the highest there is; where there is none, to 0.
__device__ inline float finite(float exponent) {
  return exponent == -INFINITY ? 0.0f : exponent;
}

// 2^x, good to 22 bits; 0 for -infinity.
__device__ inline float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Scores are to be kept at `scores`: of a row's entries, bucket by bucket.
inline void ask_for_scores(Attention& job, float* scores) {
  job.scores = scores;
  for (int i = 0; i < kMostBuckets; ++i) {
    job.first_score[i] = job.score_stride;
    job.score_stride += job.buckets[i].capacity;
  }
}

// What attending to a key costs, about: its bytes and its value's, and a part that no width changes.
inline int key_cost(const Attention& job, int bucket) {
  return 2 * row_bytes(static_cast<int>(job.buckets[bucket].bits), job.head_dim) + 48;
}

// A call's arguments as a job for at most kMostBatch sequences, from `first` on. The widest bucket comes
// first: the last blocks to run are the small ones.
inline Attention make_job(const __half* queries, const Bucket* buckets, int bucket_count,
                          const int64_t* lengths, const uint8_t* mask, int64_t mask_stride, int first,
                          int batch, int kv_heads, int group, int head_dim, float scale) {
  Attention job{};
  job.batch = std::min(batch - first, kMostBatch);
  job.kv_heads = kv_heads;
  job.group = group;
  job.head_dim = head_dim;
  job.rows = int64_t{job.batch} * kv_heads * group;
  job.queries = queries + int64_t{first} * kv_heads * group * head_dim;
  job.mask = mask == nullptr ? nullptr : mask + first * mask_stride;
  job.mask_stride = mask_stride;
  job.scale = scale * static_cast<float>(M_LOG2E);
  int order[kMostBuckets];
  for (int i = 0; i < bucket_count; ++i) order[i] = i;
  std::sort(order, order + bucket_count, [&](int a, int b) { return buckets[a].bits > buckets[b].bits; });
  for (int i = 0; i < bucket_count; ++i) {
    Bucket& bucket = job.buckets[i] = buckets[order[i]];
    const int64_t entries = first * bucket.capacity, head_entries = entries * kv_heads;
    const int64_t bytes = head_entries * row_bytes(static_cast<int>(bucket.bits), head_dim);
    bucket.keys += bytes;
    bucket.values += bytes;
    bucket.key_scales = static_cast<uint8_t*>(bucket.key_scales) + head_entries * bucket.scale_bytes;
    bucket.value_scales = static_cast<uint8_t*>(bucket.value_scales) + head_entries * bucket.scale_bytes;
    bucket.slots += entries;
    for (int sequence = 0; sequence < job.batch; ++sequence) {
      job.lengths[sequence][i] = static_cast<int>(lengths[(first + sequence) * bucket_count + order[i]]);
    }
  }
  return job;
}

// Sizes that no call can mean.
inline bool wrong_sizes(int bucket_count, int group, int head_dim) {
  if (bucket_count < 1 || bucket_count > kMostBuckets || group < 1 || group > kRows) return true;
  return head_dim < 8 || head_dim > kMostDim || head_dim % 8 != 0;
}
