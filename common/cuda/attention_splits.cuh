// Attention over buckets, cut into splits: a split is a range of entries of one bucket, for one head of one
// sequence, and is one block's work. What a block makes of it is a part: an output that is not normalised,
// the sum of its weights, and the exponent that both are relative to.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "buckets.cuh"

constexpr int kRows = 8;  // query rows that share a key, at most
constexpr int kMostDim = 256;
constexpr int kMostBatch = 128;  // sequences of a launch: their lengths are a parameter
constexpr int kMostParts = 192;  // of a row

// What all blocks need to know, as a parameter. Buckets are in the order of their blocks.
struct Attention {
  const __half* queries;  // [batch][kv_heads][group][head_dim]
  const uint8_t* mask;    // [batch][mask_stride] by slot, or null
  int64_t mask_stride;
  int batch, kv_heads, group, head_dim;
  float scale;           // of the scores, times log2(e): weights are powers of two
  int64_t rows;          // batch * kv_heads * group
  int parts;             // of each row
  float* scores;         // [rows][score_stride], to be kept for weigh_keys(), or null
  int64_t score_stride;  // all buckets' capacities
  Bucket buckets[kMostBuckets];
  int first_block[kMostBuckets];  // of each bucket; an empty one has none
  int first_part[kMostBuckets];
  int split_keys[kMostBuckets];
  int lengths[kMostBatch][kMostBuckets];
};

// A block's work.
struct Split {
  int bucket, sequence, head, part;
  int begin, end;  // entries; there may be none
};

__device__ inline Split split_of(const Attention& job, int block) {
  Split split{};
#pragma unroll
  for (int i = 1; i < kMostBuckets; ++i) split.bucket += block >= job.first_block[i];
  int rest = block - job.first_block[split.bucket];
  split.head = rest % job.kv_heads;
  rest /= job.kv_heads;
  split.sequence = rest % job.batch;
  const int range = rest / job.batch;
  split.part = job.first_part[split.bucket] + range;
  split.begin = range * job.split_keys[split.bucket];
  split.end = min(job.lengths[split.sequence][split.bucket], split.begin + job.split_keys[split.bucket]);
  return split;
}

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
  int64_t key = entry;
  for (int i = 0; i < split.bucket; ++i) key += job.buckets[i].capacity;
  return job.scores + row_of(job, split, row) * job.score_stride + key;
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

inline int multiprocessors() {
  static const int count = [] {
    int device = 0, found = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&found, cudaDevAttrMultiProcessorCount, device);
    return found;
  }();
  return count;
}

// Cuts the buckets into splits of about equal cost, in steps of `step` keys, so that there are about `wanted`
// blocks, and deals blocks to them. Returns how many there are.
inline int plan_splits(Attention& job, int step, int wanted) {
  // The bytes of a key and a value, and what a key costs whatever its width.
  const auto cost = [&](int i) {
    return 2 * row_bytes(static_cast<int>(job.buckets[i].bits), job.head_dim) + 48;
  };
  int64_t total = 0;
  int longest[kMostBuckets] = {};
  for (int sequence = 0; sequence < job.batch; ++sequence) {
    for (int i = 0; i < kMostBuckets; ++i) {
      const int length = job.lengths[sequence][i];
      longest[i] = std::max(longest[i], length);
      if (length > 0) total += int64_t{length} * cost(i);
    }
  }
  const int64_t heads = int64_t{job.batch} * job.kv_heads;
  for (int64_t share = std::max<int64_t>(1, total * job.kv_heads / wanted);; share *= 2) {
    job.parts = 0;
    int64_t blocks = 0;
    for (int i = 0; i < kMostBuckets; ++i) {
      job.first_block[i] = static_cast<int>(blocks);
      if (longest[i] == 0 && i > 0) continue;  // the first has a split even so: it writes the zeros
      const int64_t keys = (std::max<int64_t>(1, share / cost(i)) + step - 1) / step * step;
      job.split_keys[i] = static_cast<int>(std::min<int64_t>(keys, 1 << 30));
      const int splits = std::max(1, (longest[i] + job.split_keys[i] - 1) / job.split_keys[i]);
      job.first_part[i] = job.parts;
      job.parts += splits;
      blocks += splits * heads;
    }
    if (job.parts <= kMostParts) return static_cast<int>(blocks);
  }
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
