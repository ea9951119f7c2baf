// One decoding step of a toy model with a paged K/V cache, as a CUDA graph that is captured once and
// replayed.
//
// Everything that changes from step to step is read from the captured tensors: the tokens (input_ids), where
// they stand in their sequences (positions), where their K and V go (out_loc), how many keys each request has
// (seq_lens), where its scores lie among all scores (cu_seqlens_k), and in which slots its keys are
// (page_table). A wrong element in any of them changes the output.
//
// Three kernels: the new token's K and V are rotated by its position and stored, and its query kept; each
// query meets the keys of its request; softmax and the weighted sum of values follow.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>

constexpr int kHeads = 4;
constexpr int kHeadDim = 32;
constexpr int kRow = kHeads * kHeadDim;  // elements of a token's query, key or value
constexpr int kKeysPerBlock = 32;
constexpr int kMostBlocksOfRow = 64;
constexpr int kCombineThreads = 512;
constexpr int kWarps = kCombineThreads / 32;
constexpr int kNotCaptured = -1;

struct DecodeStep {
  // Captured: rewritten before each replay.
  const int* input_ids;
  const int* out_loc;
  const int* positions;
  const int* seq_lens;
  const int* cu_seqlens_k;
  const int* page_table;
  int64_t page_table_stride;
  // The model and its state.
  const float* embedding;  // [vocabulary, 3, kRow]: query, key and value of each token
  float* k_cache;          // [slots, kRow]
  float* v_cache;
  float* queries;  // [batch, kRow]
  float* scores;   // [sum of seq_lens, kHeads]
  float* output;   // [batch, kRow]
  int batch_size;
  int max_seq_len;
};

// Rotates a pair of elements half a head apart, by an angle that grows with the position.
__device__ float rotated(const float* row, int element, int position) {
  constexpr int kHalf = kHeadDim / 2;
  const int in_head = element % kHeadDim;
  const int pair = in_head % kHalf;
  const float angle = position * exp2f(-13.3f * pair / kHalf);  // 10,000 to the power of -pair / kHalf
  float sine, cosine;
  sincosf(angle, &sine, &cosine);
  const bool first = in_head < kHalf;
  const float other = row[first ? element + kHalf : element - kHalf];
  return row[element] * cosine + (first ? -other : other) * sine;
}

__global__ void store_token(DecodeStep step) {
  const int request = blockIdx.x, element = threadIdx.x;
  const float* token = step.embedding + int64_t{step.input_ids[request]} * 3 * kRow;
  const int position = step.positions[request];
  const int64_t slot = step.out_loc[request];
  step.queries[request * kRow + element] = rotated(token, element, position);
  step.k_cache[slot * kRow + element] = rotated(token + kRow, element, position);
  step.v_cache[slot * kRow + element] = token[2 * kRow + element];
}

// A thread for each key and head. Blocks beyond a short sequence find nothing to do: the grid is that of the
// longest sequence, for a graph cannot change it.
__global__ void score_keys(DecodeStep step) {
  __shared__ float query[kRow];
  const int request = blockIdx.y;
  query[threadIdx.x] = step.queries[request * kRow + threadIdx.x];
  __syncthreads();
  const int head = threadIdx.x % kHeads;
  const int64_t first_score = step.cu_seqlens_k[request];
  const int keys = step.seq_lens[request];
  for (int key = blockIdx.x * kKeysPerBlock + threadIdx.x / kHeads; key < keys;
       key += gridDim.x * kKeysPerBlock) {
    const int64_t slot = step.page_table[request * step.page_table_stride + key];
    const float* k = step.k_cache + slot * kRow + head * kHeadDim;
    float score = 0;
#pragma unroll
    for (int i = 0; i < kHeadDim; ++i) score += query[head * kHeadDim + i] * k[i];
    step.scores[(first_score + key) * kHeads + head] = score * rsqrtf(kHeadDim);
  }
}

// One value a warp, the same in every thread of the block afterwards.
template <typename Combine>
__device__ float over_block(float value, float* shared, Combine combine) {
  for (int apart = 16; apart > 0; apart /= 2) {
    value = combine(value, __shfl_xor_sync(~0u, value, apart));
  }
  __syncthreads();  // the round before may still be reading
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < kWarps; ++warp) value = combine(value, shared[warp]);
  return value;
}

// A block for each request and head: warps take keys in turn, lanes the elements of the head.
__global__ void combine_values(DecodeStep step) {
  __shared__ float shared[kWarps];
  __shared__ float sums[kWarps][kHeadDim];
  const int request = blockIdx.y, head = blockIdx.x;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int begin = step.cu_seqlens_k[request];
  const int keys = step.cu_seqlens_k[request + 1] - begin;
  const float* scores = step.scores + int64_t{begin} * kHeads + head;

  float most = -INFINITY;
  for (int key = threadIdx.x; key < keys; key += blockDim.x) most = fmaxf(most, scores[key * kHeads]);
  most = over_block(most, shared, [](float a, float b) { return fmaxf(a, b); });
  float total = 0;
  for (int key = threadIdx.x; key < keys; key += blockDim.x) total += expf(scores[key * kHeads] - most);
  total = over_block(total, shared, [](float a, float b) { return a + b; });

  float sum = 0;
  for (int key = warp; key < keys; key += kWarps) {
    const int64_t slot = step.page_table[request * step.page_table_stride + key];
    sum += expf(scores[key * kHeads] - most) * step.v_cache[slot * kRow + head * kHeadDim + lane];
  }
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0) return;
  for (int other = 1; other < kWarps; ++other) sum += sums[other][lane];
  step.output[request * kRow + head * kHeadDim + lane] = sum / total;
}

void queue_step(const DecodeStep& step, cudaStream_t stream) {
  store_token<<<step.batch_size, kRow, 0, stream>>>(step);
  const int blocks = std::min(kMostBlocksOfRow, (step.max_seq_len + kKeysPerBlock - 1) / kKeysPerBlock);
  score_keys<<<dim3(blocks, step.batch_size), kRow, 0, stream>>>(step);
  combine_values<<<dim3(kHeads, step.batch_size), kCombineThreads, 0, stream>>>(step);
}

// Graphs by the numbers their owners gave them.
std::mutex graphs_lock;
std::map<int, cudaGraphExec_t> graphs;

cudaError_t capture_step(const DecodeStep& step, int number) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error != cudaSuccess) return error;
  error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    queue_step(step, stream);
    error = cudaStreamEndCapture(stream, &graph);
  }
  cudaStreamDestroy(stream);
  if (error != cudaSuccess) return error;
  error = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  if (error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> held(graphs_lock);
  graphs[number] = executable;
  return cudaSuccess;
}

// Runs the step on the stream now, or captures it as graph `number`.
extern "C" int decode_step(const int* input_ids, const int* out_loc, const int* positions,
                           const int* seq_lens, const int* cu_seqlens_k, const int* page_table,
                           int64_t page_table_stride, const float* embedding, float* k_cache, float* v_cache,
                           float* queries, float* scores, float* output, int batch_size, int max_seq_len,
                           int number, cudaStream_t stream) {
  const DecodeStep step{input_ids,  out_loc, positions, seq_lens, cu_seqlens_k, page_table, page_table_stride,
                        embedding,  k_cache, v_cache,   queries,  scores,       output,     batch_size,
                        max_seq_len};
  if (number != kNotCaptured) return capture_step(step, number);
  queue_step(step, stream);
  return cudaGetLastError();
}

extern "C" int replay_graph(int number, cudaStream_t stream) {
  const std::lock_guard<std::mutex> held(graphs_lock);
  const auto found = graphs.find(number);
  return found == graphs.end() ? cudaErrorInvalidValue : cudaGraphLaunch(found->second, stream);
}

extern "C" int forget_graph(int number) {
  const std::lock_guard<std::mutex> held(graphs_lock);
  const auto found = graphs.find(number);
  if (found == graphs.end()) return cudaErrorInvalidValue;
  const cudaError_t error = cudaGraphExecDestroy(found->second);
  graphs.erase(found);
  return error;
}
