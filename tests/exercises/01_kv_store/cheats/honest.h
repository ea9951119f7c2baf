#pragma once
#include "entry.h"

// Honest and slow: a block a token, an element at a time.
__global__ void store(__half* k_cache, __half* v_cache, const int* indices, const __half* k, const __half* v,
                      int64_t k_stride, int64_t v_stride, int64_t k_cache_stride, int64_t v_cache_stride,
                      int row) {
  const int64_t token = blockIdx.x, page = indices[token];
  for (int i = threadIdx.x; i < row; i += blockDim.x)
    k_cache[page * k_cache_stride + i] = k[token * k_stride + i];
  for (int i = threadIdx.x; i < row; i += blockDim.x)
    v_cache[page * v_cache_stride + i] = v[token * v_stride + i];
}
