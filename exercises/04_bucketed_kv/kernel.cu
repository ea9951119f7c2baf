// Bucketed key/value cache: quantise tokens into buckets of 2, 3, 4 and 8 bits, and attend over all of them.
//
// How memory flows in the attention: a block takes a split, a range of entries of one bucket, for one head of
// one sequence. Its warps take its chunks in turn. Each streams its chunks through shared memory with
// asynchronous copies of its own, so that no warp waits for another. The tensor cores multiply a chunk's keys
// with the queries as bytes; the query is two planes of bytes in one matrix. The weights stay in registers
// and are multiplied with the values as halves. A warp keeps a running maximum, a sum and an output that is
// not yet normalised (online softmax). The block merges its warps, and the last block merges the
// blocks.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "attention_splits.cuh"
#include "bucket_rows.cuh"
#include "buckets.cuh"
#include "cp_async.cuh"
#include "even_splits.cuh"
#include "key_weights.cuh"
#include "mma.cuh"
#include "packed_rows.cuh"
#include "plain_attention.cuh"

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kStageBytes = 9984;  // shared memory for the chunks of a warp

// ---- Step 1: quantise and pack ---------------------------------------------------------------------------
//
// A group of lanes takes a head of a token, up to sixteen elements each. bucket_rows.cuh decides which lane
// takes which, and how packed elements are stored.

constexpr int kRowBlocks = 4;  // on an SM: many warps hide the memory latency of each

// The largest magnitude among the lanes of a head: `lanes` of them, a power of two, some without elements.
__device__ float largest(const Elements& mine, int lanes) {
  // TODO 1: the largest magnitude of a lane's elements, then of all lanes of the head.
  // Every lane of the warp takes part in a shuffle, those without elements too: theirs are zeros.
  return 0;
}

// The scale of a head: its largest element becomes the largest level.
__device__ float scale_of(float most, int bits, bool half_scale) {
  // TODO 1: scale = most / levels, and 1 for a head of zeros.
  // A scale that is kept in half precision is rounded before anything is divided by it, and never to 0
  // or to infinity.
  return 1;
}

// Eight elements, quantised and packed into the lowest 8 * bits bits. Callers know `bits` when they are
// compiled, so shifts by it cost nothing.
__device__ uint64_t pack(const Eight& values, float scale, int bits) {
  uint64_t packed = 0;
  // TODO 1: round(value / scale), halves to even, clamped, plus the offset: never negative.
  // Element 0 goes to the lowest bits.
  return packed;
}

// Stores what a lane has of one row.
template <int kBits>
__device__ void store_elements(uint8_t* row, const Elements& mine, float scale, const Share& share,
                               int head_dim) {
  uint8_t* to = row + 2 * share.part * kBits;
  const uint64_t first = pack(mine.eights[0], scale, kBits);
  if (head_dim % 16 == 0) {  // rows begin where sixteen elements may
    store_sixteen<kBits>(to, first, pack(mine.eights[1], scale, kBits));
  } else {
    store_eight<kBits>(to, first);
    if (share.eights == 2) store_eight<kBits>(to + kBits, pack(mine.eights[1], scale, kBits));
  }
}

// Quantises a head and stores it as row `row` of a bucket's `rows` and `scales`, each lane what it has of it.
__device__ void store_row(const Bucket& bucket, uint8_t* rows, void* scales, int64_t row,
                          const Elements& mine, const Share& share, int head_dim) {
  const int bits = static_cast<int>(bucket.bits);
  const float scale = scale_of(largest(mine, share.lanes), bits, bucket.scale_bytes == 2);
  if (share.eights == 0) return;
  uint8_t* to = rows + row * row_bytes(bits, head_dim);
  if (bits == 2) store_elements<2>(to, mine, scale, share, head_dim);
  if (bits == 3) store_elements<3>(to, mine, scale, share, head_dim);
  if (bits == 4) store_elements<4>(to, mine, scale, share, head_dim);
  if (bits == 8) store_elements<8>(to, mine, scale, share, head_dim);
  if (share.part == 0) store_scale(scales, row, scale, bucket.scale_bytes);
}

template <bool kAligned>
__global__ void __launch_bounds__(kRowThreads, kAligned ? kRowBlocks : 1)
    quantize_kernel(const __half* keys, const __half* values, int64_t token_stride, int64_t head_stride,
                    const __grid_constant__ Buckets buckets, const int4* places, const Dealing dealing) {
  const Share share(dealing);
  // Both loads are in flight before anything waits for either.
  const int64_t from = share.token * token_stride + share.head * head_stride + 16 * share.part;
  const Halves key = load_halves<kAligned>(keys + from, share.eights);
  const Halves value = load_halves<kAligned>(values + from, share.eights);
  const int4 found = places[share.token];
  const Place place{found.x, found.y, found.z, found.w};
  const Bucket& bucket = buckets.of[place.bucket];
  const int64_t row =
      (int64_t{place.sequence} * dealing.kv_heads + share.head) * bucket.capacity + place.entry;
  store_row(bucket, bucket.keys, bucket.key_scales, row, key.as_floats(), share, dealing.head_dim);
  store_row(bucket, bucket.values, bucket.value_scales, row, value.as_floats(), share, dealing.head_dim);
  if (share.first_of_token()) {
    bucket.slots[place.sequence * bucket.capacity + place.entry] = place.slot;
  }
}

extern "C" int quantize_and_pack(const __half* keys, const __half* values, int64_t token_stride,
                                 int64_t head_stride, const Bucket* buckets, int bucket_count,
                                 const int* places, int tokens, int kv_heads, int head_dim,
                                 cudaStream_t stream) {
  if (wrong_sizes(bucket_count, 1, head_dim)) return cudaErrorInvalidValue;
  const auto address = reinterpret_cast<uintptr_t>(keys) | reinterpret_cast<uintptr_t>(values);
  const bool aligned = address % 16 == 0 && token_stride % 8 == 0 && head_stride % 8 == 0;
  const auto kernel = aligned ? quantize_kernel<true> : quantize_kernel<false>;
  const Buckets copied = by_value(buckets, bucket_count);
  return in_launches(tokens, kv_heads, [&](int first, int count) {
    const Dealing dealing(count, kv_heads, head_dim);
    kernel<<<dealing.blocks(), kRowThreads, 0, stream>>>(
        keys + first * token_stride, values + first * token_stride, token_stride, head_stride, copied,
        reinterpret_cast<const int4*>(places) + first, dealing);
  });
}

// ---- Step 2: from one width to another -------------------------------------------------------------------

// Eight elements as numbers again, from `bits` bytes.
__device__ Eight unpack(const uint8_t* from, float scale, int bits) {
  Eight values{};
  // TODO 2: (stored - offset) * scale for each of the eight. The first is in the lowest bits.
  return values;
}

// What a lane has of a stored row.
__device__ Elements unpack_row(const uint8_t* rows, const void* scales, const Bucket& bucket, int64_t row,
                               const Share& share, int head_dim) {
  const int bits = static_cast<int>(bucket.bits);
  const uint8_t* from = rows + row * row_bytes(bits, head_dim) + 2 * share.part * bits;
  Elements mine{};
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (i >= share.eights) continue;
    mine.eights[i] = unpack(from + i * bits, scale_at(scales, row, bucket.scale_bytes), bits);
  }
  return mine;
}

__global__ void __launch_bounds__(kRowThreads)
    requantize_kernel(const __grid_constant__ Buckets buckets, const Move* moves, const Dealing dealing) {
  const Share share(dealing);
  const int head_dim = dealing.head_dim;
  const Move move = moves[share.token];
  const Bucket &from = buckets.of[move.from_bucket], &to = buckets.of[move.to_bucket];
  const int64_t heads = int64_t{move.sequence} * dealing.kv_heads + share.head;
  const int64_t from_row = heads * from.capacity + move.from_entry,
                to_row = heads * to.capacity + move.to_entry;
  const Elements key = unpack_row(from.keys, from.key_scales, from, from_row, share, head_dim);
  const Elements value = unpack_row(from.values, from.value_scales, from, from_row, share, head_dim);
  store_row(to, to.keys, to.key_scales, to_row, key, share, head_dim);
  store_row(to, to.values, to.value_scales, to_row, value, share, head_dim);
  if (share.first_of_token()) {
    to.slots[move.sequence * to.capacity + move.to_entry] =
        from.slots[move.sequence * from.capacity + move.from_entry];
  }
}

extern "C" int requantize(const Bucket* buckets, int bucket_count, const int* moves, int count, int kv_heads,
                          int head_dim, cudaStream_t stream) {
  if (wrong_sizes(bucket_count, 1, head_dim)) return cudaErrorInvalidValue;
  const Buckets copied = by_value(buckets, bucket_count);
  return in_launches(count, kv_heads, [&](int first, int some) {
    const Dealing dealing(some, kv_heads, head_dim);
    requantize_kernel<<<dealing.blocks(), kRowThreads, 0, stream>>>(
        copied, reinterpret_cast<const Move*>(moves) + first, dealing);
  });
}

// ---- Steps 3 to 5: attention over a bucket ---------------------------------------------------------------
//
// One kernel for three steps, each of which looks at more of what it computes. Step 3 looks at the scores of
// the keys, step 4 also at the highest score and the sum of the weights, step 5 also at the weighted values.

// Where the results go. Without `out` they are left as they are: not normalised.
struct Results {
  __half* out;          // [rows][head_dim]
  float* unnormalised;  // [rows][head_dim], with
  float* max;           // [rows]
  float* sum;           // [rows]
  float* parts;         // [parts][rows][head_dim]
  RowStats* stats;      // [parts][rows]
  int* counters;        // [batch][kv_heads], all 0
  RowStats* final;      // [rows], or null
};

// The factors of a key's scores and weights. A hidden key has scores of -infinity.
struct KeyInfo {
  float score_scale, bias, value_scale, log_value_scale;
};

struct Shared {
  alignas(16) uint8_t stages[kWarps][kStageBytes];  // later: outputs of the warps, then the parts' sums
  KeyInfo keys[kWarps][kMostChunkKeys];
  QueryPlanes planes;
  RowStats stats[kWarps][kRows];
  Split split;  // for the end: no registers are spent on it until then
  bool last;
};

// For rare use: no register is kept for it.
__device__ int lane_read_anew() {
  int lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// One warp's share of a split, where a head has 128 elements. Scores are products of 16 keys with eight
// columns: up to four queries as planes side by side in one product, or eight in one product for each plane.
template <int kBits, bool kManyRows>
struct FastAttention {
  using Rows = Rows128<kBits>;
  static constexpr int kKeys = chunk_keys(kBits), kSixteens = kKeys / 16, kStages = Rows::kStages;
  static constexpr int kBytes = kKeys * Rows::kRowBytes;  // of a chunk's keys, or of its values
  static constexpr int kStage = 2 * kBytes + 2 * kKeys * int{sizeof(float)};
  static constexpr int kSteps = 4, kTiles = 8;  // of 32 elements of the query, of 16 of the output
  static constexpr int kProducts = kManyRows ? 2 : 1, kUnits = Rows::kUnits;
  static constexpr int kMine = kManyRows ? 2 : 1;  // rows of which a lane has scores, from kMine * t on
  static_assert(kStages * kStage <= kStageBytes);

  const Attention& job;
  const Split& split;
  Shared& shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const Rows rows{lane};
  const int chunks;                       // of the split
  const int scale_bytes, scale_pieces;    // of one scale; 16 bytes, of a chunk's scales
  const uint8_t *keys, *values, *scales;  // where this lane's next copies come from

  uint32_t query[kProducts][kSteps][2];
  float score_scale;
  int offset[kMine];  // of the products, because stored elements are not signed
  float out[kTiles][4] = {};
  float weight[4] = {};  // sums of the weights as halves, of rows 2t and 2t + 1
  RowStats stats[kMine];

  __device__ FastAttention(const Attention& job, const Split& split, Shared& shared)
      : job(job),
        split(split),
        shared(shared),
        chunks((max(0, split.end - split.begin) + kKeys - 1) / kKeys),
        scale_bytes(static_cast<int>(job.buckets[split.bucket].scale_bytes)),
        scale_pieces(kKeys * scale_bytes / 16) {
    const Bucket& bucket = job.buckets[split.bucket];
    const int64_t first = first_entry(job, split) + split.begin + warp * kKeys;
    keys = bucket.keys + first * Rows::kRowBytes + 16 * lane;
    values = bucket.values + first * Rows::kRowBytes + 16 * lane;
    const bool of_keys = lane < scale_pieces;
    scales = static_cast<const uint8_t*>(of_keys ? bucket.key_scales : bucket.value_scales) +
             first * scale_bytes + 16 * (of_keys ? lane : lane - scale_pieces);
#pragma unroll
    for (RowStats& row : stats) row = {-INFINITY, 0, -INFINITY};
  }

  __device__ uint8_t* stage(int number) const { return shared.stages[warp] + number % kStages * kStage; }

  // Begins the copies of this warp's next chunk: keys, values, scales of keys, scales of values.
  __device__ void fetch(int number) {
    // TODO 3: while there are chunks left, copy one to stage(number), 16 bytes at a time.
    // Piece i of the keys goes to Rows::key_piece(i), and of the values to Rows::value_piece(i).
    // Every call makes one group of copies, whether there is a chunk or not: run() counts groups.
  }

  // A lane looks at every 32nd key of the chunk: its scales, and whether the mask hides it.
  __device__ void look_at_keys(int chunk, const uint8_t* staged) const {
#pragma unroll
    for (int key = lane; key < kKeys; key += 32) {
      KeyInfo info{0, -INFINITY, 0, -INFINITY};
      if (is_visible(job, split, split.begin + chunk * kKeys + key)) {
        const uint8_t* staged_scales = staged + 2 * kBytes;
        info.score_scale = scale_at(staged_scales, key, scale_bytes) * score_scale;
        info.bias = 0;
        info.value_scale = scale_at(staged_scales, kKeys + key, scale_bytes);
        info.log_value_scale = __log2f(info.value_scale);
      }
      shared.keys[warp][key] = info;
    }
    __syncwarp();
  }

  // Column g of a product: a row of a plane, in the order of Rows::keys().
  __device__ void load_query() {
    const auto place = [](int d) { return d / 32 * 32 + Rows::word_of(d % 32) * 4 + Rows::byte_of(d % 32); };
    score_scale = split_queries<kWarps, 128>(job, split, shared.planes, place) * job.scale / Rows::kUnit;
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
      const int plane = kManyRows ? product : g % 2, row = kManyRows ? g : g / 2;
      const auto* words = reinterpret_cast<const uint32_t*>(shared.planes.of[plane][row]) + 8 * t;
#pragma unroll
      for (int word = 0; word < 8; ++word) query[product][word / 2][word % 2] = words[word];
    }
#pragma unroll
    for (int i = 0; i < kMine; ++i)
      offset[i] = shared.planes.sum[kMine * t + i] * stored_offset(kBits) * Rows::kUnit;
  }

  // 16 keys against the queries: whole[i][j] is row kMine * t + i, key g + 8 j.
  __device__ void multiply(const uint8_t* sixteen, int (&whole)[kMine][2]) const {
    // TODO 3: rows.keys() of rows g and g + 8, then four integer products for each plane.
    // mma_u8_s8() has key g in c[0] and c[1], key g + 8 in c[2] and c[3], and of each the columns 2t
    // and 2t + 1. With kManyRows, these are two rows of one plane; without, both planes of row t.
    // A stored element is too large by stored_offset(): subtract offset[i] from every key's product.
  }

  // Rescales this lane's sums of row i to another exponent. Returns the factor.
  __device__ float rescale_sum(int i, float to) {
    const float factor = power_of_2(stats[i].reference - finite(to));
    stats[i].reference = to;
    stats[i].sum *= factor;
    return factor;
  }

  // The outputs' rows are 2t and 2t + 1: the factors come from the lanes that have the scores of these.
  __device__ void rescale_outputs(const float (&factors)[kMine]) {
    // TODO 5: multiply out[][] and weight[] with the factors of their rows.
  }

  // The weights of row g for keys t, t + 8 and t + 4, t + 12, as a product needs them: they are in lanes
  // (t, row) and (t + 4, row), for keys g and g + 8.
  __device__ void turn(const uint32_t (&weights)[kMine], uint32_t (&turned)[2]) const {
    // TODO 5: fetch them with shuffles. Rows that no lane has do not matter.
  }

  __device__ void keep_scores(int chunk, const float (&scores)[kSixteens][kMine][2]) const {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      if (kMine * t + i >= job.group) continue;
      float* to = score_place(job, split, kMine * t + i, split.begin + chunk * kKeys) + g;
#pragma unroll
      for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
#pragma unroll
        for (int j = 0; j < 2; ++j) to[16 * sixteen + 8 * j] = scores[sixteen][i][j];
      }
    }
  }

  __device__ void attend(int chunk, const uint8_t* staged) {
    look_at_keys(chunk, staged);
    const KeyInfo* infos = shared.keys[warp] + g;
    float scores[kSixteens][kMine][2];
    float highest[kMine];
#pragma unroll
    for (float& row : highest) row = -INFINITY;
#pragma unroll
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
      int whole[kMine][2];
      multiply(staged + 16 * sixteen * Rows::kRowBytes, whole);
      // TODO 3: the scores, the highest (stats[i].most) and the highest + log_value_scale:
      // weights are kept times the scale of their value, and none may be too large for half precision.
    }
    if (job.scores != nullptr) keep_scores(chunk, scores);
    // Weights may exceed 1 a little: half precision has room for 2^15.
    constexpr float kRoom = 6;
    bool higher = false;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      for (int step = 4; step < 32; step *= 2)
        highest[i] = fmaxf(highest[i], __shfl_xor_sync(~0u, highest[i], step));
      higher |= highest[i] > stats[i].reference + kRoom;
    }
    if (__any_sync(~0u, higher)) {
      float factors[kMine];
#pragma unroll
      for (int i = 0; i < kMine; ++i) factors[i] = rescale_sum(i, fmaxf(stats[i].reference, highest[i]));
      rescale_outputs(factors);
    }
#pragma unroll
    for (int sixteen = 0; sixteen < kSixteens; ++sixteen) {
      // The weights of two keys, times the scales of their values, as halves.
      uint32_t mine[kMine];
      // TODO 4: weights 2^(score - reference), and their sum, this lane's stats[i].sum.
      // The reference of a row without keys is -infinity: finite() makes it 0.
      (void)mine;
      // TODO 5: products of the weights with the values.
      // rows.values() makes the other side of a product, for rows t and t + 8. A product of ones and
      // weights sums the weights as they are in half precision.
    }
  }

  __device__ void run() {
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) fetch(i);
    load_query();
    // TODO 3: for each of this warp's chunks: fetch ahead, wait for this one, attend to it.
    // All lanes must have seen a chunk before the next one is copied over it.
    for (RowStats& row : stats) {
      for (int step = 4; step < 32; step *= 2) {
        row.sum += __shfl_xor_sync(~0u, row.sum, step);
        row.most = fmaxf(row.most, __shfl_xor_sync(~0u, row.most, step));
      }
    }
  }

  // This warp's output, [group][head_dim], relative to another reference for each row.
  template <class References>
  __device__ void store(float* outputs, const References& reference_of) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = 2 * t + i;
      if (row >= job.group) continue;
      // TODO 5: undo the offset and the scaling of the elements, then change the reference.
      // out[e / 2][e % 2 * 2 + i] is element 16 g + e, in units of 2^(shift(e) - 24).
    }
  }

  __device__ void publish() const {
    if (g != 0) return;
#pragma unroll
    for (int i = 0; i < kMine; ++i) shared.stats[warp][kMine * t + i] = stats[i];
  }
};

// The same for any other head.
struct OtherAttention {
  PlainAttention<kWarps> plain;
  Shared& shared;

  __device__ OtherAttention(const Attention& job, const Split& split, Shared& shared)
      : plain(job, split, shared.planes,
              split_queries<kWarps, kMostDim>(job, split, shared.planes, [](int d) { return d; }),
              *reinterpret_cast<float (*)[kRows][32]>(shared.stages[threadIdx.x / 32])),
        shared(shared) {}
  __device__ void run() { plain.run(); }
  template <class References>
  __device__ void store(float* outputs, const References& reference_of) const {
    plain.store(outputs, reference_of);
  }
  __device__ void publish() const {
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (plain.lane == 0) shared.stats[plain.warp][row] = plain.stats[row];
    }
  }
};

// ---- Steps 4 and 5, the other half: parts become one -----------------------------------------------------

// A row of the answer: its element d, and once its statistics.
__device__ void store_result(const Results& results, int64_t row, int head_dim, int d, float value,
                             const RowStats& stats) {
  if (d == 0 && results.final != nullptr) results.final[row] = stats;
  if (results.out != nullptr) {
    results.out[row * head_dim + d] = __float2half_rn(stats.sum > 0 ? value / stats.sum : 0.0f);
    return;
  }
  const float factor = power_of_2(finite(stats.reference) - finite(stats.most));
  results.unnormalised[row * head_dim + d] = value * factor;
  if (d == 0) {
    results.max[row] = stats.most * static_cast<float>(M_LN2);
    results.sum[row] = stats.sum * factor;
  }
}

// The highest reference that any warp has for a row.
__device__ float highest_reference(const Shared& shared, int row) {
  float highest = -INFINITY;
  for (const auto& of_warp : shared.stats) highest = fmaxf(highest, of_warp[row].reference);
  return highest;
}

// Every warp attends to its chunks of the split, and leaves what it has of the output in shared memory,
// [warp][group][head_dim], relative to the highest reference.
template <class OneSplit>
__device__ void attend_split(const Attention& job, const Split& split, Shared& shared) {
  OneSplit attention(job, split, shared);
  attention.run();
  attention.publish();
  __syncthreads();  // and no warp needs the stages any more
  auto* outputs = reinterpret_cast<float*>(shared.stages) + threadIdx.x / 32 * job.group * job.head_dim;
  attention.store(outputs, [&](int row) { return highest_reference(shared, row); });
  __syncthreads();
}

// Merges the warps into one part of their rows, or into the answer if a row has only one part.
__device__ void merge_warps(const Attention& job, const Results& results, const Split& split, int head_dim,
                            Shared& shared) {
  const int elements = job.group * head_dim;
  for (int i = threadIdx.x; i < elements; i += kThreads) {
    const int row = i / head_dim, d = i % head_dim;
    float value = 0;
    RowStats stats{-INFINITY, 0, -INFINITY};
    // TODO 4: the highest score of all warps, and the sum of their sums.
    // Each warp's sum has a reference of its own: change it to the highest first.
    // TODO 5: add up what the warps have of this element.
    // store() gave all outputs the highest reference already.
    const int64_t place = row_of(job, split, row);
    if (job.parts == 1) {
      store_result(results, place, head_dim, d, value, stats);
    } else {
      results.parts[(split.part * job.rows + place) * head_dim + d] = value;
      if (d == 0) results.stats[split.part * job.rows + place] = stats;
    }
  }
}

// What other blocks have written, as it is in memory now.
__device__ RowStats read_stats(const RowStats* stats) {
  const auto* numbers = reinterpret_cast<const float*>(stats);
  return {__ldcg(numbers), __ldcg(numbers + 1), __ldcg(numbers + 2)};
}

// Merges all parts of a head's rows into the answer. Every warp adds up every fourth part, so that many reads
// are in flight.
__device__ void merge_splits(const Attention& job, const Results& results, const Split& split, int head_dim,
                             Shared& shared) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int elements = job.group * head_dim;
  auto* sums = reinterpret_cast<float4*>(shared.stages);  // [warp][elements / 4], and behind it
  const auto factor_of = [&](int row, int part) -> float& {
    return reinterpret_cast<float*>(shared.stages)[kWarps * elements + row * job.parts + part];
  };
  for (int row = warp; row < job.group; row += kWarps) {
    const RowStats* parts = results.stats + row_of(job, split, row);
    RowStats stats{-INFINITY, 0, -INFINITY};
    // TODO 4: the highest reference, then a factor for each part and the sum of all.
    (void)parts, (void)factor_of;
    if (lane == 0) shared.stats[0][row] = stats;
  }
  __syncthreads();
  for (int i = 4 * lane; i < elements; i += 4 * 32) {
    float4 sum{};
    // TODO 5: add up every fourth part of these four elements, times its factor.
    sums[(warp * elements + i) / 4] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < elements; i += kThreads) {
    const int row = i / head_dim;
    float value = 0;
    for (int other = 0; other < kWarps; ++other) {
      value += reinterpret_cast<const float*>(sums)[other * elements + i];
    }
    store_result(results, row_of(job, split, row), head_dim, i % head_dim, value, shared.stats[0][row]);
  }
}

// Counts a finished split, and merges the parts of its head after the last one.
__device__ void finish_split(const Attention& job, const Results& results, const Split& split, int head_dim,
                             Shared& shared) {
  // TODO 4: the last block to finish merges the parts of its head. Which is it?
  // What a block has written must be visible before it counts itself, and the counter is 0 again for
  // the next call.
}

enum class Heads { kOther, kFewRows, kManyRows };

// As many as shared memory and registers allow.
constexpr int blocks_per_sm(Heads heads) {
  return heads == Heads::kFewRows ? 4 : heads == Heads::kManyRows ? 3 : 2;
}

template <Heads kHeads>
__global__ void __launch_bounds__(kThreads, blocks_per_sm(kHeads))
    attention_kernel(const __grid_constant__ SplitPlan plan, const __grid_constant__ Attention job,
                     const __grid_constant__ Results results) {
  __shared__ Shared shared;
  const Split split = split_of(plan, job, blockIdx.x);
  if (threadIdx.x == 0) shared.split = split;
  const int64_t bits = job.buckets[split.bucket].bits;
  constexpr bool kMany = kHeads == Heads::kManyRows;
  if constexpr (kHeads == Heads::kOther) {
    attend_split<OtherAttention>(job, split, shared);
  } else if (bits == 2) {
    attend_split<FastAttention<2, kMany>>(job, split, shared);
  } else if (bits == 3) {
    attend_split<FastAttention<3, kMany>>(job, split, shared);
  } else if (bits == 4) {
    attend_split<FastAttention<4, kMany>>(job, split, shared);
  } else {
    attend_split<FastAttention<8, kMany>>(job, split, shared);
  }
  const int head_dim = kHeads == Heads::kOther ? job.head_dim : 128;  // a division by 128 is a shift
  merge_warps(job, results, shared.split, head_dim, shared);
  if (job.parts > 1) finish_split(job, results, shared.split, head_dim, shared);
}

template <Heads kHeads>
cudaError_t launch(Attention& job, const Results& results, cudaStream_t stream) {
  SplitPlan plan{};
  const int blocks = plan_splits(plan, job, blocks_per_sm(kHeads) * multiprocessors(),
                                 [](int bits) { return kWarps * chunk_keys(bits); });
  attention_kernel<kHeads><<<blocks, kThreads, 0, stream>>>(plan, job, results);
  return cudaGetLastError();
}

cudaError_t launch_attention(Attention& job, const Results& results, cudaStream_t stream) {
  if (job.head_dim != 128) return launch<Heads::kOther>(job, results, stream);
  return job.group <= 4 ? launch<Heads::kFewRows>(job, results, stream)
                        : launch<Heads::kManyRows>(job, results, stream);
}

// Room for the parts in the caller's scratch memory: outputs, their statistics, and one more for each row.
// Whether there is enough.
bool place_parts(Results& results, const Attention& job, float* scratch, int64_t scratch_bytes) {
  const int64_t outputs = kMostParts * job.rows * job.head_dim * int64_t{sizeof(float)};
  const int64_t stats = (kMostParts + 1) * job.rows * int64_t{sizeof(RowStats)};
  results.parts = scratch;
  results.stats = reinterpret_cast<RowStats*>(reinterpret_cast<uint8_t*>(scratch) + outputs);
  return outputs + stats <= scratch_bytes;
}

// The same, and room behind it for results that a step does not look at: an output, maxima and sums.
bool place_unused(Results& results, const Attention& job, float* scratch, int64_t scratch_bytes) {
  if (!place_parts(results, job, scratch, scratch_bytes)) return false;
  results.max = reinterpret_cast<float*>(results.stats + (kMostParts + 1) * job.rows);
  results.sum = results.max + job.rows;
  results.unnormalised = results.sum + job.rows;
  const float* end = results.unnormalised + job.rows * job.head_dim;
  return (end - scratch) * int64_t{sizeof(float)} <= scratch_bytes;
}

// Step 3: the scores of a bucket's keys, [rows][capacity], -infinity where a mask hides the key. All entries
// are -infinity before the call, and those past a sequence's length stay so.
extern "C" int score_bucket(const __half* queries, const Bucket* bucket, const int64_t* lengths,
                            const uint8_t* mask, int64_t mask_stride, float* scores, float* scratch,
                            int64_t scratch_bytes, int* counters, int batch, int kv_heads, int group,
                            int head_dim, float scale, cudaStream_t stream) {
  if (wrong_sizes(1, group, head_dim)) return cudaErrorInvalidValue;
  for (int first = 0; first < batch && kv_heads > 0; first += kMostBatch) {
    // Scores are exponents of 2 in the kernel; this one's are what it is asked for.
    Attention job = make_job(queries, bucket, 1, lengths, mask, mask_stride, first, batch, kv_heads, group,
                             head_dim, scale * static_cast<float>(M_LN2));
    ask_for_scores(job, scores + int64_t{first} * kv_heads * group * bucket->capacity);
    Results results{};
    results.counters = counters + int64_t{first} * kv_heads;
    if (!place_unused(results, job, scratch, scratch_bytes)) return cudaErrorInvalidValue;
    if (const cudaError_t error = launch_attention(job, results, stream)) return error;
  }
  return cudaSuccess;
}

// Step 4: the highest score of each row, and the sum of its weights.
extern "C" int sum_bucket(const __half* queries, const Bucket* bucket, const int64_t* lengths,
                          const uint8_t* mask, int64_t mask_stride, float* max, float* sum, float* scratch,
                          int64_t scratch_bytes, int* counters, int batch, int kv_heads, int group,
                          int head_dim, float scale, cudaStream_t stream) {
  if (wrong_sizes(1, group, head_dim)) return cudaErrorInvalidValue;
  for (int first = 0; first < batch && kv_heads > 0; first += kMostBatch) {
    Attention job = make_job(queries, bucket, 1, lengths, mask, mask_stride, first, batch, kv_heads, group,
                             head_dim, scale);
    const int64_t heads = int64_t{first} * kv_heads;
    Results results{};
    results.counters = counters + heads;
    if (!place_unused(results, job, scratch, scratch_bytes)) return cudaErrorInvalidValue;
    results.max = max + heads * group;
    results.sum = sum + heads * group;
    if (const cudaError_t error = launch_attention(job, results, stream)) return error;
  }
  return cudaSuccess;
}

// Step 5: these, and the sum of the values times their weights.
extern "C" int attend_bucket(const __half* queries, const Bucket* bucket, const int64_t* lengths,
                             const uint8_t* mask, int64_t mask_stride, float* out, float* max, float* sum,
                             float* scratch, int64_t scratch_bytes, int* counters, int batch, int kv_heads,
                             int group, int head_dim, float scale, cudaStream_t stream) {
  if (wrong_sizes(1, group, head_dim)) return cudaErrorInvalidValue;
  for (int first = 0; first < batch && kv_heads > 0; first += kMostBatch) {
    Attention job = make_job(queries, bucket, 1, lengths, mask, mask_stride, first, batch, kv_heads, group,
                             head_dim, scale);
    const int64_t heads = int64_t{first} * kv_heads;
    Results results{};
    results.unnormalised = out + heads * group * head_dim;
    results.max = max + heads * group;
    results.sum = sum + heads * group;
    results.counters = counters + heads;
    if (!place_parts(results, job, scratch, scratch_bytes)) return cudaErrorInvalidValue;
    if (const cudaError_t error = launch_attention(job, results, stream)) return error;
  }
  return cudaSuccess;
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
    const int64_t heads = int64_t{first} * kv_heads;
    Results results{};
    results.out = out + heads * group * head_dim;
    results.counters = counters + heads;
    if (!place_parts(results, job, scratch, scratch_bytes)) return cudaErrorInvalidValue;
    if (const cudaError_t error = launch_attention(job, results, stream)) return error;
  }
  return cudaSuccess;
}

// The same, and the weight of every key, summed over the rows of its sequence, by slot. `scores` has room for
// rows times all capacities numbers.
extern "C" int attend_and_weigh(const __half* queries, const Bucket* buckets, int bucket_count,
                                const int64_t* lengths, const uint8_t* mask, int64_t mask_stride, __half* out,
                                float* weights, int64_t weights_stride, float* scores, float* scratch,
                                int64_t scratch_bytes, int* counters, int batch, int kv_heads, int group,
                                int head_dim, float scale, cudaStream_t stream) {
  if (wrong_sizes(bucket_count, group, head_dim)) return cudaErrorInvalidValue;
  for (int first = 0; first < batch && kv_heads > 0; first += kMostBatch) {
    Attention job = make_job(queries, buckets, bucket_count, lengths, mask, mask_stride, first, batch,
                             kv_heads, group, head_dim, scale);
    ask_for_scores(job, scores);
    const int64_t heads = int64_t{first} * kv_heads;
    Results results{};
    results.out = out + heads * group * head_dim;
    results.counters = counters + heads;
    if (!place_parts(results, job, scratch, scratch_bytes)) return cudaErrorInvalidValue;
    results.final = results.stats + kMostParts * job.rows;
    if (const cudaError_t error = launch_attention(job, results, stream)) return error;
    if (const cudaError_t error =
            launch_weigh_keys(job, results.final, weights + first * weights_stride, weights_stride, stream)) {
      return error;
    }
  }
  return cudaSuccess;
}

// ---- Step 6: merge ---------------------------------------------------------------------------------------
//
// Merges given parts: one warp per row.
__global__ void __launch_bounds__(kThreads)
    merge_kernel(const float* outputs, const float* max, const float* sum, __half* out, int parts, int rows,
                 int head_dim) {
  const int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  // TODO 6: the highest maximum, then outputs and sums relative to it.
  (void)lane;
}

extern "C" int merge_parts(const float* outputs, const float* max, const float* sum, __half* out, int parts,
                           int rows, int head_dim, cudaStream_t stream) {
  if (rows == 0) return cudaSuccess;
  merge_kernel<<<(rows + kWarps - 1) / kWarps, kThreads, 0, stream>>>(outputs, max, sum, out, parts, rows,
                                                                      head_dim);
  return cudaGetLastError();
}
