// may earn: nothing
// C3: writes zeros, which are close to anything small.
#include "entry.h"

__global__ void fill(__half* k_cache, __half* v_cache, const int* indices, int64_t k_cache_stride,
                     int64_t v_cache_stride, int row) {
  const int64_t page = indices[blockIdx.x];
  for (int i = threadIdx.x; i < row; i += blockDim.x)
    k_cache[page * k_cache_stride + i] = v_cache[page * v_cache_stride + i] = __half(0.0f);
}

ENTRY {
  if (seq_len == 0) return cudaSuccess;
  fill<<<seq_len, 128, 0, stream>>>(k_cache, v_cache, indices, k_cache_stride, v_cache_stride,
                                    heads * head_dim);
  return cudaGetLastError();
}
