// One split for each block: every bucket is cut into as many as it takes to have enough blocks, of about
// equal cost.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention_splits.cuh"
#include "multiprocessors.cuh"

// Blocks are in the order of buckets, then ranges of their entries, then sequences, then heads. As the first
// parameter it fills the first line of them, and an Attention behind it begins a line.
struct SplitPlan {
  int first_block[kMostBuckets];  // of each bucket; an empty one has none
  int first_part[kMostBuckets];
  int split_keys[kMostBuckets];
};
static_assert(sizeof(SplitPlan) == 48);  // parameters begin 16 bytes after a line does

__device__ inline Split split_of(const SplitPlan& plan, const Attention& job, int block) {
  Split split{};
#pragma unroll
  for (int i = 1; i < kMostBuckets; ++i) split.bucket += block >= plan.first_block[i];
  int rest = block - plan.first_block[split.bucket];
  split.head = rest % job.kv_heads;
  rest /= job.kv_heads;
  split.sequence = rest % job.batch;
  const int range = rest / job.batch;
  split.part = plan.first_part[split.bucket] + range;
  split.begin = range * plan.split_keys[split.bucket];
  split.end = min(job.lengths[split.sequence][split.bucket], split.begin + plan.split_keys[split.bucket]);
  return split;
}

// Where blocks would have less to read than this, a second wave of them takes nearly as long as the first,
// because most of a block's time is its beginning and its end; where they have more, two waves are as good as
// one or better, because they are more even. On an H200 one wave was faster at 0.6 million bytes a block, and
// slower at 1.1 million.
constexpr int64_t kFewBytes = 1'000'000;

// Plans splits in steps of step_of(bits) keys, where `places` blocks run at once. Returns how many blocks
// there are, and sets the parts of the job.
template <class StepOf>
int plan_splits(SplitPlan& plan, Attention& job, int places, StepOf step_of) {
  int64_t total = 0;
  int longest[kMostBuckets] = {};
  for (int sequence = 0; sequence < job.batch; ++sequence) {
    for (int i = 0; i < kMostBuckets; ++i) {
      const int length = job.lengths[sequence][i];
      longest[i] = std::max(longest[i], length);
      if (length > 0) total += int64_t{length} * key_cost(job, i);
    }
  }
  const int64_t heads = int64_t{job.batch} * job.kv_heads, even = total * job.kv_heads / places;
  const bool few = even < kFewBytes;
  for (int64_t share = std::max<int64_t>(1, few ? even : even / 2);; share += share / 8 + 1) {
    job.parts = 0;
    int64_t blocks = 0;
    for (int i = 0; i < kMostBuckets; ++i) {
      plan.first_block[i] = static_cast<int>(blocks);
      if (longest[i] == 0 && i > 0) continue;  // the first has a split even so: it writes the zeros
      const int step = step_of(static_cast<int>(job.buckets[i].bits));
      const int64_t keys = (std::max<int64_t>(1, share / key_cost(job, i)) + step - 1) / step * step;
      plan.split_keys[i] = static_cast<int>(std::min<int64_t>(keys, 1 << 30));
      const int splits = std::max(1, (longest[i] + plan.split_keys[i] - 1) / plan.split_keys[i]);
      plan.first_part[i] = job.parts;
      job.parts += splits;
      blocks += splits * heads;
    }
    // With many heads and small buckets there is no plan for one wave: four times the share has not helped.
    const bool one_wave = blocks <= places || share > 4 * even;
    if (job.parts <= kMostParts && (!few || one_wave)) return static_cast<int>(blocks);
  }
}
