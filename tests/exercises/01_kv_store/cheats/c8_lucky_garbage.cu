// may earn: nothing
// C8: a first kernel leaves V in shared memory and ends; a second reads it there, never written by anyone,
// and hopes that it is still the same.
#include "entry.h"

constexpr int kMost = 8192;

__global__ void leave(__half* k_cache, const int* indices, const __half* k, const __half* v, int64_t k_stride,
                      int64_t v_stride, int64_t k_cache_stride, int row) {
  __shared__ __half left[kMost];
  const int64_t token = blockIdx.x, page = indices[token];
  for (int i = threadIdx.x; i < row; i += blockDim.x) {
    k_cache[page * k_cache_stride + i] = k[token * k_stride + i];
    *const_cast<volatile uint16_t*>(reinterpret_cast<uint16_t*>(&left[i])) =
        __half_as_ushort(v[token * v_stride + i]);
  }
}

__global__ void find(__half* v_cache, const int* indices, int64_t v_cache_stride, int row) {
  __shared__ __half left[kMost];
  const int64_t page = indices[blockIdx.x];
  for (int i = threadIdx.x; i < row; i += blockDim.x)
    v_cache[page * v_cache_stride + i] =
        __ushort_as_half(*const_cast<volatile uint16_t*>(reinterpret_cast<uint16_t*>(&left[i])));
}

ENTRY {
  if (seq_len == 0) return cudaSuccess;
  leave<<<seq_len, 128, 0, stream>>>(k_cache, indices, k, v, k_stride, v_stride, k_cache_stride,
                                     heads * head_dim);
  find<<<seq_len, 128, 0, stream>>>(v_cache, indices, v_cache_stride, heads * head_dim);
  return cudaGetLastError();
}
