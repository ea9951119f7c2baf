// Attention over a cache of one width: the time of a uniform INT8 cache. It also reads every other width,
// element by element.
//
// How memory flows: a block takes a range of entries of one bucket, for one head of one sequence. Eight lanes
// take a key, 16 bytes of it each, straight from memory; four integer dot products of four bytes for each
// plane of the query, and the lanes add up. The same eight lanes add the value, times its weight, to outputs
// of their own. No lane waits for another before the end. A second kernel merges the blocks' parts.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "attention_splits.cuh"
#include "buckets.cuh"
#include "even_splits.cuh"
#include "plain_attention.cuh"
#include "query_planes.cuh"

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kDims = 128;    // of a head that is read fast
constexpr int kLanes = 8;     // that share a key
constexpr int kUnrolled = 4;  // keys that each eight lanes have in flight
constexpr int kBlocksPerSm = 4;

struct Parts {
  float* outputs;   // [parts][rows][head_dim]
  RowStats* stats;  // [parts][rows]
};

struct Shared {
  float outputs[kWarps][kRows * kMostDim];
  QueryPlanes planes;
  RowStats stats[kWarps][kRows];
};

__device__ inline float lanes_most(float value, int from, int to) {
  for (int step = from; step < to; step *= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

// Keys of 128 bytes for kGroup query rows.
template <int kGroup, typename Scale>
struct ByteAttention {
  static constexpr int kEach = kDims / kLanes;  // elements of a lane
  const Attention& job;
  const Split& split;
  Shared& shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int part = lane % kLanes, group = lane / kLanes;
  float score_scale;
  int4 high[kGroup], low[kGroup];
  float out[kGroup][kEach] = {};
  RowStats stats[kGroup];

  __device__ ByteAttention(const Attention& job, const Split& split, Shared& shared)
      : job(job), split(split), shared(shared) {
    score_scale =
        split_queries<kWarps, kDims>(job, split, shared.planes, [](int d) { return d; }) * job.scale;
#pragma unroll
    for (int row = 0; row < kGroup; ++row) {
      high[row] = *reinterpret_cast<const int4*>(&shared.planes.of[0][row][kEach * part]);
      low[row] = *reinterpret_cast<const int4*>(&shared.planes.of[1][row][kEach * part]);
      stats[row] = {-INFINITY, 0, -INFINITY};
    }
  }

  __device__ static int dot(int4 a, uint4 b) {
    // Stored bytes are 128 too large: with their highest bit flipped they are signed.
    constexpr uint32_t kSigns = 0x80808080;
    int sum = __dp4a(a.x, static_cast<int>(b.x ^ kSigns), 0);
    sum = __dp4a(a.y, static_cast<int>(b.y ^ kSigns), sum);
    sum = __dp4a(a.z, static_cast<int>(b.z ^ kSigns), sum);
    return __dp4a(a.w, static_cast<int>(b.w ^ kSigns), sum);
  }

  // One key and its value. All lanes of the warp take part, with keys of their own.
  __device__ void attend(bool visible, uint4 key, uint4 value, float key_scale, float value_scale) {
    const uint32_t words[4] = {value.x, value.y, value.z, value.w};
#pragma unroll
    for (int row = 0; row < kGroup; ++row) {
      int whole = 256 * dot(high[row], key) + dot(low[row], key);
      for (int step = 1; step < kLanes; step *= 2) whole += __shfl_xor_sync(~0u, whole, step);
      const float score = visible ? static_cast<float>(whole) * score_scale * key_scale : -INFINITY;
      RowStats& now = stats[row];
      if (score > now.reference) {
        const float factor = power_of_2(now.reference - score);
        now.reference = score;
        now.sum *= factor;
#pragma unroll
        for (float& element : out[row]) element *= factor;
      }
      const float weight = power_of_2(score - finite(now.reference));
      now.sum += weight;
      const float scaled = weight * value_scale;
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const int stored = static_cast<int>(words[i / 4] >> 8 * (i % 4) & 255);
        out[row][i] = fmaf(scaled, static_cast<float>(stored - stored_offset(8)), out[row][i]);
      }
    }
  }

  __device__ void run() {
    const Bucket& bucket = job.buckets[split.bucket];
    const int64_t head = first_entry(job, split);
    const auto* keys = reinterpret_cast<const uint4*>(bucket.keys) + head * kLanes + part;
    const auto* values = reinterpret_cast<const uint4*>(bucket.values) + head * kLanes + part;
    const auto* key_scales = static_cast<const Scale*>(bucket.key_scales) + head;
    const auto* value_scales = static_cast<const Scale*>(bucket.value_scales) + head;
    constexpr int kGroups = 32 / kLanes, kStep = kGroups * kUnrolled;
    for (int first = split.begin + kStep * warp; first < split.end; first += kStep * kWarps) {
      uint4 key[kUnrolled], value[kUnrolled];
      float key_scale[kUnrolled], value_scale[kUnrolled];
#pragma unroll
      for (int i = 0; i < kUnrolled; ++i) {
        const int entry = min(first + kGroups * i + group, split.end - 1);
        key[i] = keys[int64_t{entry} * kLanes];
        value[i] = values[int64_t{entry} * kLanes];
        key_scale[i] = static_cast<float>(key_scales[entry]);
        value_scale[i] = static_cast<float>(value_scales[entry]);
      }
#pragma unroll
      for (int i = 0; i < kUnrolled; ++i) {
        const bool visible = is_visible(job, split, first + kGroups * i + group);
        attend(visible, key[i], value[i], key_scale[i], value_scale[i]);
      }
    }
    merge_lanes();
  }

  // Merges lanes with the same part of different keys.
  __device__ void merge_lanes() {
#pragma unroll
    for (int row = 0; row < kGroup; ++row) {
      RowStats& now = stats[row];
      const float highest = lanes_most(now.reference, kLanes, 32);
      const float factor = power_of_2(now.reference - finite(highest));
      now = {highest, now.sum * factor, highest};
#pragma unroll
      for (int step = kLanes; step < 32; step *= 2) now.sum += __shfl_xor_sync(~0u, now.sum, step);
#pragma unroll
      for (float& element : out[row]) {
        element *= factor;
        for (int step = kLanes; step < 32; step *= 2) element += __shfl_xor_sync(~0u, element, step);
      }
    }
  }

  template <class References>
  __device__ void store(float* outputs, const References& reference_of) const {
    if (group != 0) return;
#pragma unroll
    for (int row = 0; row < kGroup; ++row) {
      if (row >= job.group) continue;
      const float factor = power_of_2(stats[row].reference - finite(reference_of(row)));
#pragma unroll
      for (int i = 0; i < kEach; ++i) outputs[row * kDims + kEach * part + i] = factor * out[row][i];
    }
  }

  __device__ RowStats row(int number) const { return stats[number]; }
  static constexpr int kStats = kGroup;
};

struct OtherAttention {
  PlainAttention<kWarps> plain;
  __device__ OtherAttention(const Attention& job, const Split& split, Shared& shared)
      : plain(job, split, shared.planes,
              split_queries<kWarps, kMostDim>(job, split, shared.planes, [](int d) { return d; }),
              *reinterpret_cast<float (*)[kRows][32]>(shared.outputs[threadIdx.x / 32])) {}
  __device__ void run() { plain.run(); }
  template <class References>
  __device__ void store(float* outputs, const References& reference_of) const {
    plain.store(outputs, reference_of);
  }
  __device__ RowStats row(int number) const { return plain.stats[number]; }
  static constexpr int kStats = kRows;
};

template <class Share>
__device__ void attend_split(const Attention& job, const Parts& parts, const Split& split, Shared& shared) {
  Share share(job, split, shared);
  share.run();
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
#pragma unroll
    for (int row = 0; row < Share::kStats; ++row) shared.stats[warp][row] = share.row(row);
  }
  __syncthreads();
  const auto reference_of = [&](int row) {
    float highest = -INFINITY;
    for (int other = 0; other < kWarps; ++other) highest = fmaxf(highest, shared.stats[other][row].reference);
    return highest;
  };
  share.store(shared.outputs[warp], reference_of);
  __syncthreads();
  for (int i = threadIdx.x; i < job.group * job.head_dim; i += kThreads) {
    const int row = i / job.head_dim, d = i % job.head_dim;
    const int64_t place = split.part * job.rows + row_of(job, split, row);
    float value = 0;
    RowStats stats{reference_of(row), 0, 0};
    for (int other = 0; other < kWarps; ++other) {
      value += shared.outputs[other][i];
      const RowStats& theirs = shared.stats[other][row];
      stats.sum += theirs.sum * power_of_2(theirs.reference - finite(stats.reference));
    }
    parts.outputs[place * job.head_dim + d] = value;
    if (d == 0) parts.stats[place] = stats;
  }
}

template <class Share>
__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __grid_constant__ SplitPlan plan, const __grid_constant__ Attention job,
                     const __grid_constant__ Parts parts) {
  __shared__ Shared shared;
  attend_split<Share>(job, parts, split_of(plan, job, blockIdx.x), shared);
}

// A block for each row, a thread for each element.
__global__ void __launch_bounds__(kMostDim)
    merge_kernel(const __grid_constant__ Parts parts, __half* out, int count, int rows, int head_dim) {
  const int row = blockIdx.x, d = threadIdx.x;
  if (d >= head_dim) return;
  float highest = -INFINITY;
  for (int i = 0; i < count; ++i) highest = fmaxf(highest, parts.stats[int64_t{i} * rows + row].reference);
  float value = 0, sum = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t place = int64_t{i} * rows + row;
    const float factor = power_of_2(parts.stats[place].reference - finite(highest));
    value += factor * parts.outputs[place * head_dim + d];
    sum += factor * parts.stats[place].sum;
  }
  out[int64_t{row} * head_dim + d] = __float2half_rn(sum > 0 ? value / sum : 0.0f);
}

using Kernel = void (*)(SplitPlan, Attention, Parts);

template <typename Scale>
Kernel byte_kernel(int group) {
  return group == 1   ? attention_kernel<ByteAttention<1, Scale>>
         : group == 2 ? attention_kernel<ByteAttention<2, Scale>>
         : group <= 4 ? attention_kernel<ByteAttention<4, Scale>>
                      : attention_kernel<ByteAttention<8, Scale>>;
}

// The fast kernel where all keys are bytes.
Kernel kernel_for(const Attention& job) {
  bool bytes = job.head_dim == kDims;
  for (int sequence = 0; sequence < job.batch; ++sequence) {
    for (int i = 0; i < kMostBuckets; ++i) bytes &= job.lengths[sequence][i] == 0 || job.buckets[i].bits == 8;
  }
  if (!bytes || job.buckets[0].bits != 8) return attention_kernel<OtherAttention>;
  return job.buckets[0].scale_bytes == 4 ? byte_kernel<float>(job.group) : byte_kernel<__half>(job.group);
}

extern "C" int bucketed_attention(const __half* queries, const Bucket* buckets, int bucket_count,
                                  const int64_t* lengths, const uint8_t* mask, int64_t mask_stride,
                                  __half* out, float* scratch, int64_t scratch_bytes, int* counters,
                                  int batch, int kv_heads, int group, int head_dim, float scale,
                                  cudaStream_t stream) {
  if (wrong_sizes(bucket_count, group, head_dim)) return cudaErrorInvalidValue;
  for (int first = 0; first < batch && kv_heads > 0; first += kMostBatch) {
    Attention job = make_job(queries, buckets, bucket_count, lengths, mask, mask_stride, first, batch,
                             kv_heads, group, head_dim, scale);
    SplitPlan plan{};
    const int blocks =
        plan_splits(plan, job, kBlocksPerSm * multiprocessors(), [](int) { return 16 * kWarps; });
    const Parts parts{scratch, reinterpret_cast<RowStats*>(scratch + kMostParts * job.rows * head_dim)};
    kernel_for(job)<<<blocks, kThreads, 0, stream>>>(plan, job, parts);
    if (const cudaError_t error = cudaGetLastError()) return error;
    const int rows = static_cast<int>(job.rows);
    __half* to = out + int64_t{first} * kv_heads * group * head_dim;
    merge_kernel<<<rows, kMostDim, 0, stream>>>(parts, to, job.parts, rows, head_dim);
    if (const cudaError_t error = cudaGetLastError()) return error;
  }
  return cudaSuccess;
}
