// Without shared memory and without cp.async: a thread loads its units of K and of V into registers, all of
// them before it stores any. This file's times show whether cp.async is what makes the reference
// fast.
//
// The shape of the launch is the reference's: threadIdx.y is one of the block's tokens, threadIdx.x a place
// in its row.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "units.cuh"

constexpr int kThreads = 128;       // of a block, at most
constexpr int kUnitsPerThread = 2;  // of K, and as many of V

struct StoreKv {
  __half* k_cache;
  __half* v_cache;
  const int* indices;  // [seq_len], the page of each token, all different
  const __half* k;
  const __half* v;
  int64_t k_stride, v_stride;  // from row to row, in elements
  int64_t k_cache_stride, v_cache_stride;
  int seq_len;
  int row_units;  // a row in units of the kernel's width
};

template <int kUnitBytes>
__global__ void __launch_bounds__(kThreads) fused_store_kv_registers(StoreKv p) {
  const int64_t token = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (token >= p.seq_len) return;
  const int first_unit = blockIdx.y * blockDim.x * kUnitsPerThread + threadIdx.x;
  const auto* k_row = reinterpret_cast<const Unit<kUnitBytes>*>(p.k + token * p.k_stride);
  const auto* v_row = reinterpret_cast<const Unit<kUnitBytes>*>(p.v + token * p.v_stride);

  Unit<kUnitBytes> k_units[kUnitsPerThread], v_units[kUnitsPerThread];
#pragma unroll
  for (int i = 0; i < kUnitsPerThread; ++i) {
    const int unit = first_unit + i * blockDim.x;
    if (unit < p.row_units) {
      k_units[i] = k_row[unit];
      v_units[i] = v_row[unit];
    }
  }
  const int64_t page = p.indices[token];  // arrives while the rows are in flight
  auto* k_page = reinterpret_cast<Unit<kUnitBytes>*>(p.k_cache + page * p.k_cache_stride);
  auto* v_page = reinterpret_cast<Unit<kUnitBytes>*>(p.v_cache + page * p.v_cache_stride);
#pragma unroll
  for (int i = 0; i < kUnitsPerThread; ++i) {
    const int unit = first_unit + i * blockDim.x;
    if (unit < p.row_units) {
      k_page[unit] = k_units[i];
      v_page[unit] = v_units[i];
    }
  }
}

template <int kUnitBytes>
void launch(StoreKv p, int row_bytes, cudaStream_t stream) {
  p.row_units = row_bytes / kUnitBytes;
  const int across = std::min(kThreads, ceil_div(p.row_units, kUnitsPerThread));
  const dim3 block(across, kThreads / across);
  const dim3 grid(ceil_div(p.seq_len, block.y), ceil_div(p.row_units, across * kUnitsPerThread));
  fused_store_kv_registers<kUnitBytes><<<grid, block, 0, stream>>>(p);
}

extern "C" int fused_store_kv_async(__half* k_cache, __half* v_cache, const int* indices, const __half* k,
                                    const __half* v, int64_t k_stride, int64_t v_stride,
                                    int64_t k_cache_stride, int64_t v_cache_stride, int seq_len, int heads,
                                    int head_dim, cudaStream_t stream) {
  const int row_bytes = heads * head_dim * static_cast<int>(sizeof(__half));
  if (seq_len == 0 || row_bytes == 0) return cudaSuccess;
  const StoreKv p{k_cache,  v_cache,        indices,        k,       v, k_stride,
                  v_stride, k_cache_stride, v_cache_stride, seq_len, 0};
  // A slice is aligned only if its start and its row stride are, on both sides, for K and for V.
  switch (widest_unit_bytes(k_cache, v_cache, k, v, k_stride * 2, v_stride * 2, k_cache_stride * 2,
                            v_cache_stride * 2, row_bytes)) {
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
  return cudaGetLastError();
}
