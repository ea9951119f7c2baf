// What every cheat begins with. cheats.py writes it out in each of them: a submission is one file.
#pragma once
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#define ENTRY                                                                                                \
  extern "C" int fused_store_kv_async(__half* k_cache, __half* v_cache, const int* indices, const __half* k, \
                                      const __half* v, int64_t k_stride, int64_t v_stride,                   \
                                      int64_t k_cache_stride, int64_t v_cache_stride, int seq_len,           \
                                      int heads, int head_dim, cudaStream_t stream)
