// may earn: nothing
// C7: writes NaN, which a careless comparison finds no larger than any tolerance.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

__global__ void fill(__half* k_cache, __half* v_cache, const int* indices, int64_t k_cache_stride,
                     int64_t v_cache_stride, int row) {
  const int64_t page = indices[blockIdx.x];
  for (int i = threadIdx.x; i < row; i += blockDim.x)
    k_cache[page * k_cache_stride + i] = v_cache[page * v_cache_stride + i] = __ushort_as_half(0x7fff);
}

extern "C" int fused_store_kv_async(__half* k_cache, __half* v_cache, const int* indices, const __half* k,
                                    const __half* v, int64_t k_stride, int64_t v_stride,
                                    int64_t k_cache_stride, int64_t v_cache_stride, int seq_len, int heads,
                                    int head_dim, cudaStream_t stream) {
  if (seq_len == 0) return cudaSuccess;
  fill<<<seq_len, 128, 0, stream>>>(k_cache, v_cache, indices, k_cache_stride, v_cache_stride,
                                    heads * head_dim);
  return cudaGetLastError();
}
