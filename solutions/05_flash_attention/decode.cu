// One query row against a long cache, in half precision: decoding uses every byte once, so only bytes
// count.
//
// How memory flows: the keys of a head are cut into splits, so that one sequence fills the GPU. A block takes
// a split; a few lanes share a key, 16 bytes of it each, and its value, straight from memory and several keys
// ahead. Every group of lanes keeps a maximum, a sum and an output of its own; they are merged in the block,
// and the blocks' parts by a second kernel.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "multiprocessors.cuh"
#include "stream_buffer.cuh"

constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kUnrolled = 4;     // keys of a group in flight
constexpr int kLeastKeys = 128;  // of a split
constexpr int kBlocksPerSm = 8;

struct Strides {
  int64_t batch, head, row;
};

struct Decode {
  const __half *queries, *keys, *values;
  __half* out;
  Strides of_queries, of_keys, of_values, of_out;
  int heads, length, splits, split_keys;
  float scale;  // times log2(e)
};

// The state after some keys: exponents are powers of two.
struct State {
  float most, sum;
};

__device__ inline float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Relative to the highest score; to 0 where there was no key.
__device__ inline float finite(float most) {
  return most == -INFINITY ? 0.0f : most;
}

__device__ inline void unpack(uint4 piece, float (&to)[8]) {
  const auto* pairs = reinterpret_cast<const __half2*>(&piece);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 both = __half22float2(pairs[i]);
    to[2 * i] = both.x;
    to[2 * i + 1] = both.y;
  }
}

template <int kDim>
__global__ void __launch_bounds__(kThreads)
    split_kernel(const __grid_constant__ Decode job, float* outputs, State* states) {
  constexpr int kLanes = kDim / 8, kGroups = 32 / kLanes, kAtOnce = kGroups * kWarps;
  const int split = blockIdx.x, head = blockIdx.y, batch = blockIdx.z;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = lane % kLanes, group = lane / kLanes;
  const auto start = [&](const __half* tensor, const Strides& strides) {
    return tensor + batch * strides.batch + head * strides.head + 8 * part;
  };
  float query[8], out[8] = {};
  unpack(*reinterpret_cast<const uint4*>(start(job.queries, job.of_queries)), query);
#pragma unroll
  for (float& element : query) element *= job.scale;
  State now{-INFINITY, 0};
  const __half *keys = start(job.keys, job.of_keys), *values = start(job.values, job.of_values);
  const int begin = split * job.split_keys, end = min(job.length, begin + job.split_keys);
  for (int first = begin + warp * kGroups + group; first - group - warp * kGroups < end;
       first += kAtOnce * kUnrolled) {
    uint4 key[kUnrolled], value[kUnrolled];
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) {
      const int64_t at = min(first + i * kAtOnce, end - 1);
      key[i] = *reinterpret_cast<const uint4*>(keys + at * job.of_keys.row);
      value[i] = *reinterpret_cast<const uint4*>(values + at * job.of_values.row);
    }
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) {
      float elements[8], score = 0;
      unpack(key[i], elements);
#pragma unroll
      for (int d = 0; d < 8; ++d) score = fmaf(query[d], elements[d], score);
#pragma unroll
      for (int step = 1; step < kLanes; step *= 2) score += __shfl_xor_sync(~0u, score, step);
      if (first + i * kAtOnce >= end) score = -INFINITY;
      const float most = fmaxf(now.most, score);
      const float factor = power_of_2(now.most - finite(most)), weight = power_of_2(score - finite(most));
      now = {most, now.sum * factor + weight};
      unpack(value[i], elements);
#pragma unroll
      for (int d = 0; d < 8; ++d) out[d] = fmaf(weight, elements[d], out[d] * factor);
    }
  }

  // Merges the groups in shared memory.
  __shared__ float of_groups[kAtOnce][kDim];
  __shared__ State of_states[kAtOnce];
  const int mine = warp * kGroups + group;
  if (part == 0) of_states[mine] = now;
#pragma unroll
  for (int d = 0; d < 8; ++d) of_groups[mine][8 * part + d] = out[d];
  __syncthreads();
  State all{-INFINITY, 0};
  for (const State& other : of_states) all.most = fmaxf(all.most, other.most);
  const int64_t place = (int64_t{batch} * job.heads + head) * job.splits + split;
  for (int d = threadIdx.x; d < kDim; d += kThreads) {
    float value = 0;
    all.sum = 0;
    for (int i = 0; i < kAtOnce; ++i) {
      const float factor = power_of_2(of_states[i].most - finite(all.most));
      value += factor * of_groups[i][d];
      all.sum += factor * of_states[i].sum;
    }
    outputs[place * kDim + d] = value;
    if (d == 0) states[place] = all;
  }
}

template <int kDim>
__global__ void __launch_bounds__(kDim)
    merge_kernel(const __grid_constant__ Decode job, const float* outputs, const State* states) {
  const int d = threadIdx.x, head = blockIdx.x, batch = blockIdx.y;
  const int64_t first = (int64_t{batch} * job.heads + head) * job.splits;
  float most = -INFINITY, sum = 0, value = 0;
  for (int i = 0; i < job.splits; ++i) most = fmaxf(most, states[first + i].most);
  for (int i = 0; i < job.splits; ++i) {
    const float factor = power_of_2(states[first + i].most - finite(most));
    sum += factor * states[first + i].sum;
    value += factor * outputs[(first + i) * kDim + d];
  }
  job.out[batch * job.of_out.batch + head * job.of_out.head + d] =
      __float2half_rn(sum > 0 ? value / sum : 0.0f);
}

template <int kDim>
cudaError_t launch(const Decode& job, int batch, cudaStream_t stream) {
  const size_t parts = static_cast<size_t>(batch) * job.heads * job.splits;
  StreamBuffer<float> outputs(parts * kDim, stream);
  StreamBuffer<State> states(parts, stream);
  if (outputs.error() != cudaSuccess) return outputs.error();
  if (states.error() != cudaSuccess) return states.error();
  split_kernel<kDim>
      <<<dim3(job.splits, job.heads, batch), kThreads, 0, stream>>>(job, outputs.get(), states.get());
  if (const cudaError_t e = cudaGetLastError()) return e;
  merge_kernel<kDim><<<dim3(job.heads, batch), kDim, 0, stream>>>(job, outputs.get(), states.get());
  return cudaGetLastError();
}

// Queries and out are [batch][head][1][head_dim], keys and values [batch][head][length][head_dim], by their
// strides in elements.
extern "C" int decode_attention(const __half* queries, const __half* keys, const __half* values, __half* out,
                                const Strides* strides, int batch, int heads, int length, int head_dim,
                                float scale, cudaStream_t stream) {
  if (batch < 0 || heads < 0 || length < 0 || (head_dim != 64 && head_dim != 128))
    return cudaErrorInvalidValue;
  if (batch == 0 || heads == 0) return cudaSuccess;
  const int rows = batch * heads, wanted = std::max(1, kBlocksPerSm * multiprocessors() / rows);
  const int keys_each = std::max(kLeastKeys, (length + wanted - 1) / wanted);
  const Decode job{queries,
                   keys,
                   values,
                   out,
                   strides[0],
                   strides[1],
                   strides[2],
                   strides[3],
                   heads,
                   length,
                   std::max(1, (length + keys_each - 1) / keys_each),
                   keys_each,
                   scale * static_cast<float>(M_LOG2E)};
  return head_dim == 64 ? launch<64>(job, batch, stream) : launch<128>(job, batch, stream);
}
