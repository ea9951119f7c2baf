// FlashAttention without any overlap: 32 rows of queries against tiles of 32 keys, the products on the tensor
// cores through WMMA fragments, whose layout is not defined. So scores and outputs go through shared memory,
// where rows can be addressed: scores come from there for the softmax and go back as weights, and the output
// is read, rescaled, added to and written for every tile of keys.
//
// How memory flows: a block of four warps takes 32 query rows of one head. All threads copy the next tile of
// keys and values to shared memory and wait; all multiply and wait; all compute weights and wait.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cmath>
#include <cstdint>

namespace wmma = nvcuda::wmma;

constexpr int kTile = 32;  // rows of queries, and keys
constexpr int kWarps = 4;
constexpr int kThreads = 32 * kWarps;
constexpr int kLanes = kThreads / kTile;  // threads that share a row of scores
constexpr int kPad = 8;  // elements: rows begin in different banks, and at multiples of 16 bytes

// Where a tensor [batch][head][row][element] lies, in elements. Elements of a row are neighbours.
struct Strides {
  int64_t batch, head, row;
};

struct Attention {
  const void *queries, *keys, *values;
  void* out;
  Strides of_queries, of_keys, of_values, of_out;
  int heads, sharers, length;  // so many heads of queries share one of keys and values
  float scale;
};

template <typename T, int kDim>
struct Shared {
  alignas(32) T queries[kTile][kDim + kPad];
  alignas(32) T keys[kTile][kDim + kPad];
  alignas(32) T values[kTile][kDim + kPad];
  union {  // a row's weights take the place of its scores
    alignas(32) float scores[kTile][kTile + kPad];
    alignas(32) T weights[kTile][2 * (kTile + kPad)];
  };
  alignas(32) float out[kTile][kDim + kPad];
};

// 32 rows of a tensor, 16 bytes at a time; rows past the end are zeros.
template <typename T, int kDim>
__device__ void load_rows(T (&to)[kTile][kDim + kPad], const void* tensor, const Strides& strides, int batch,
                          int head, int first, int length) {
  const T* from = static_cast<const T*>(tensor) + batch * strides.batch + head * strides.head;
  for (int i = threadIdx.x; i < kTile * kDim / 8; i += kThreads) {
    const int row = i / (kDim / 8), element = i % (kDim / 8) * 8;
    uint4 piece{};
    if (first + row < length)
      piece = *reinterpret_cast<const uint4*>(from + (first + row) * strides.row + element);
    *reinterpret_cast<uint4*>(&to[row][element]) = piece;
  }
}

// Each warp has one of the four 16 x 16 corners of the scores.
template <typename T, int kDim>
__device__ void multiply_keys(Shared<T, kDim>& shared) {
  const int warp = threadIdx.x / 32, row = warp / 2 * 16, key = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0);
  for (int d = 0; d < kDim; d += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> b;
    wmma::load_matrix_sync(a, &shared.queries[row][d], kDim + kPad);
    wmma::load_matrix_sync(b, &shared.keys[key][d], kDim + kPad);
    wmma::mma_sync(sum, a, b, sum);
  }
  wmma::store_matrix_sync(&shared.scores[row][key], sum, kTile + kPad, wmma::mem_row_major);
}

// Weights times values, added to the output in shared memory.
template <typename T, int kDim>
__device__ void multiply_values(Shared<T, kDim>& shared) {
  const int warp = threadIdx.x / 32;
  for (int part = warp; part < 2 * (kDim / 16); part += kWarps) {
    const int row = part % 2 * 16, d = part / 2 * 16;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::load_matrix_sync(sum, &shared.out[row][d], kDim + kPad, wmma::mem_row_major);
    for (int key = 0; key < kTile; key += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> b;
      wmma::load_matrix_sync(a, &shared.weights[row][key], 2 * (kTile + kPad));
      wmma::load_matrix_sync(b, &shared.values[key][d], kDim + kPad);
      wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(&shared.out[row][d], sum, kDim + kPad, wmma::mem_row_major);
  }
}

__device__ inline float most_of_row(float value) {
  for (int step = 1; step < kLanes; step *= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
  return value;
}
__device__ inline float sum_of_row(float value) {
  for (int step = 1; step < kLanes; step *= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

template <typename T>
__device__ T rounded(float value);
template <>
__device__ __half rounded<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __nv_bfloat16 rounded<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

template <typename T, int kDim>
__global__ void __launch_bounds__(kThreads)
    attention_kernel(const __grid_constant__ Attention job, bool causal) {
  __shared__ Shared<T, kDim> shared;
  const int first = blockIdx.x * kTile, head = blockIdx.y, batch = blockIdx.z;
  // A row of scores belongs to four neighbours, each with every fourth key.
  const int row = threadIdx.x / kLanes, part = threadIdx.x % kLanes;
  float most = -INFINITY, sum = 0;

  load_rows<T, kDim>(shared.queries, job.queries, job.of_queries, batch, head, first, job.length);
  for (int d = part; d < kDim; d += kLanes) shared.out[row][d] = 0;

  const int end = causal ? min(job.length, first + kTile) : job.length;
  for (int first_key = 0; first_key < end; first_key += kTile) {
    load_rows<T, kDim>(shared.keys, job.keys, job.of_keys, batch, head / job.sharers, first_key, job.length);
    load_rows<T, kDim>(shared.values, job.values, job.of_values, batch, head / job.sharers, first_key,
                       job.length);
    __syncthreads();
    multiply_keys(shared);
    __syncthreads();
    float scores[kTile / kLanes], highest = most;
    for (int i = 0; i < kTile / kLanes; ++i) {
      const int key = first_key + i * kLanes + part;
      const bool hidden = key >= job.length || (causal && key > first + row);
      scores[i] = hidden ? -INFINITY : shared.scores[row][i * kLanes + part] * job.scale;
      highest = fmaxf(highest, scores[i]);
    }
    highest = most_of_row(highest);
    __syncwarp();  // the row's scores have been read
    const float factor = __expf(most - highest);
    most = highest;
    sum *= factor;
    for (int i = 0; i < kTile / kLanes; ++i) {
      const float weight = __expf(scores[i] - most);
      sum += weight;
      shared.weights[row][i * kLanes + part] = rounded<T>(weight);
    }
    for (int d = part; d < kDim; d += kLanes) shared.out[row][d] *= factor;
    __syncthreads();
    multiply_values(shared);
    __syncthreads();
  }
  const float total = sum_of_row(sum);
  if (first + row >= job.length) return;
  T* to = static_cast<T*>(job.out) + batch * job.of_out.batch + head * job.of_out.head +
          (first + row) * job.of_out.row;
  for (int d = part; d < kDim; d += kLanes) to[d] = rounded<T>(shared.out[row][d] / total);
}

template <typename T>
cudaError_t launch(const Attention& job, int batch, int head_dim, bool causal, cudaStream_t stream) {
  const dim3 blocks((job.length + kTile - 1) / kTile, job.heads, batch);
  const auto kernel = head_dim == 64 ? attention_kernel<T, 64> : attention_kernel<T, 128>;
  kernel<<<blocks, kThreads, 0, stream>>>(job, causal);
  return cudaGetLastError();
}

bool misaligned(const void* tensor, const Strides& strides) {
  return reinterpret_cast<uintptr_t>(tensor) % 16 != 0 ||
         (strides.batch | strides.head | strides.row) % 8 != 0;
}

extern "C" int hopper_attention(const void* queries, const void* keys, const void* values, void* out,
                                const Strides* strides, int batch, int heads, int key_heads, int length,
                                int head_dim, float scale, int causal, int bfloat16, cudaStream_t stream) {
  if (batch < 0 || heads < 0 || length < 0 || (head_dim != 64 && head_dim != 128))
    return cudaErrorInvalidValue;
  if (batch == 0 || heads == 0 || length == 0) return cudaSuccess;
  if (key_heads < 1 || heads % key_heads != 0) return cudaErrorInvalidValue;
  if (misaligned(queries, strides[0]) || misaligned(keys, strides[1]) || misaligned(values, strides[2]) ||
      misaligned(out, strides[3]))
    return cudaErrorMisalignedAddress;
  const Attention job{queries,    keys,       values,     out,   strides[0],
                      strides[1], strides[2], strides[3], heads, heads / key_heads,
                      length,     scale};
  return bfloat16 ? launch<__nv_bfloat16>(job, batch, head_dim, causal, stream)
                  : launch<__half>(job, batch, head_dim, causal, stream);
}
