// What every key weighed in an attention whose scores were kept: the importance of its token.
#pragma once

#include "attention_splits.cuh"
#include "plain_attention.cuh"

constexpr int kWeighThreads = 256;

// A thread for each entry of each sequence: the sum of its normalised weights over all rows, put at its slot.
__global__ void __launch_bounds__(kWeighThreads)
    weigh_keys(const __grid_constant__ Attention job, const RowStats* stats, float* weights,
               int64_t weights_stride) {
  const int64_t key = int64_t{blockIdx.x} * kWeighThreads + threadIdx.x;
  const int sequence = blockIdx.y;
  int bucket = 0;
  int64_t entry = key;
  while (bucket < kMostBuckets && entry >= job.buckets[bucket].capacity)
    entry -= job.buckets[bucket++].capacity;
  if (bucket == kMostBuckets || entry >= job.lengths[sequence][bucket]) return;
  const int rows = job.kv_heads * job.group;
  float total = 0;
  for (int row = 0; row < rows; ++row) {
    const int64_t place = int64_t{sequence} * rows + row;
    const RowStats& of_row = stats[place];
    const float weight = power_of_2(job.scores[place * job.score_stride + key] - finite(of_row.reference));
    if (of_row.sum > 0) total += weight / of_row.sum;
  }
  const Bucket& found = job.buckets[bucket];
  weights[sequence * weights_stride + found.slots[sequence * found.capacity + entry]] = total;
}

inline cudaError_t launch_weigh_keys(const Attention& job, const RowStats* stats, float* weights,
                                     int64_t weights_stride, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((job.score_stride + kWeighThreads - 1) / kWeighThreads);
  if (blocks == 0) return cudaSuccess;
  weigh_keys<<<dim3(blocks, job.batch), kWeighThreads, 0, stream>>>(job, stats, weights, weights_stride);
  return cudaGetLastError();
}
