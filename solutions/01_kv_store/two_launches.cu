// Two launches of one plain row copy, K and then V. The fused store saves the second launch and its
// wait.
//
// threadIdx.y is one of the block's tokens, threadIdx.x a place in its row. A thread moves one unit.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "units.cuh"

constexpr int kThreads = 128;  // of a block, at most

struct StoreRows {
  __half* cache;
  const int* indices;  // [seq_len], the page of each token, all different
  const __half* rows;
  int64_t stride, cache_stride;  // from row to row, in elements
  int seq_len;
  int row_units;  // a row in units of the kernel's width
};

template <int kUnitBytes>
__global__ void __launch_bounds__(kThreads) store_rows(StoreRows p) {
  const int64_t token = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const int unit = blockIdx.y * blockDim.x + threadIdx.x;
  if (token >= p.seq_len || unit >= p.row_units) return;
  const int64_t page = p.indices[token];
  reinterpret_cast<Unit<kUnitBytes>*>(p.cache + page * p.cache_stride)[unit] =
      reinterpret_cast<const Unit<kUnitBytes>*>(p.rows + token * p.stride)[unit];
}

template <int kUnitBytes>
void launch(StoreRows p, int row_bytes, cudaStream_t stream) {
  p.row_units = row_bytes / kUnitBytes;
  const int across = std::min(kThreads, p.row_units);
  const dim3 block(across, kThreads / across);
  const dim3 grid(ceil_div(p.seq_len, block.y), ceil_div(p.row_units, across));
  store_rows<kUnitBytes><<<grid, block, 0, stream>>>(p);
}

void store(const StoreRows& p, int row_bytes, cudaStream_t stream) {
  switch (widest_unit_bytes(p.cache, p.rows, p.stride * 2, p.cache_stride * 2, row_bytes)) {
    case 16:
      launch<16>(p, row_bytes, stream);
      break;
    case 8:
      launch<8>(p, row_bytes, stream);
      break;
    case 4:
      launch<4>(p, row_bytes, stream);
      break;
    default:
      launch<2>(p, row_bytes, stream);
      break;
  }
}

extern "C" int fused_store_kv_async(__half* k_cache, __half* v_cache, const int* indices, const __half* k,
                                    const __half* v, int64_t k_stride, int64_t v_stride,
                                    int64_t k_cache_stride, int64_t v_cache_stride, int seq_len, int heads,
                                    int head_dim, cudaStream_t stream) {
  const int row_bytes = heads * head_dim * static_cast<int>(sizeof(__half));
  if (seq_len == 0 || row_bytes == 0) return cudaSuccess;
  store({k_cache, indices, k, k_stride, k_cache_stride, seq_len, 0}, row_bytes, stream);
  store({v_cache, indices, v, v_stride, v_cache_stride, seq_len, 0}, row_bytes, stream);
  return cudaGetLastError();
}
