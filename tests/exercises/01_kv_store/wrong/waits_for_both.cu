// expect: mechanism mechanism: 0 bytes of cp.async were in flight
// K is stored when V is there, too: nothing overlaps.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "units.cuh"

constexpr int kThreads = 128;  // of a block, at most
// Of K, and as many of V. Two let 4,096 rows of 2 KiB be in flight on 132 multiprocessors: no second wave.
constexpr int kUnitsPerThread = 2;

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

// Starts to copy one unit into shared memory. cp.async moves 4, 8 or 16 bytes; a lone half takes a register.
template <int kUnitBytes>
__device__ void copy_async(Unit<kUnitBytes>* shared, const Unit<kUnitBytes>* global) {
  if constexpr (kUnitBytes >= 4) {
    __pipeline_memcpy_async(shared, global, kUnitBytes);
  } else {
    *shared = *global;
  }
}

template <int kUnitBytes>
__global__ void __launch_bounds__(kThreads) fused_store_kv_async(StoreKv p) {
  const int64_t token = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (token >= p.seq_len) return;

  __shared__ Unit<kUnitBytes> k_stage[kUnitsPerThread][kThreads];
  __shared__ Unit<kUnitBytes> v_stage[kUnitsPerThread][kThreads];
  const int slot = threadIdx.y * blockDim.x + threadIdx.x;
  const int first_unit = blockIdx.y * blockDim.x * kUnitsPerThread + threadIdx.x;

  const auto* k_row = reinterpret_cast<const Unit<kUnitBytes>*>(p.k + token * p.k_stride);
#pragma unroll
  for (int i = 0; i < kUnitsPerThread; ++i) {
    const int unit = first_unit + i * blockDim.x;
    if (unit < p.row_units) copy_async<kUnitBytes>(&k_stage[i][slot], &k_row[unit]);
  }
  __pipeline_commit();

  const auto* v_row = reinterpret_cast<const Unit<kUnitBytes>*>(p.v + token * p.v_stride);
#pragma unroll
  for (int i = 0; i < kUnitsPerThread; ++i) {
    const int unit = first_unit + i * blockDim.x;
    if (unit < p.row_units) copy_async<kUnitBytes>(&v_stage[i][slot], &v_row[unit]);
  }
  __pipeline_commit();

  const int64_t page = p.indices[token];  // arrives while the rows are in flight
  auto* k_page = reinterpret_cast<Unit<kUnitBytes>*>(p.k_cache + page * p.k_cache_stride);
  __pipeline_wait_prior(0);
#pragma unroll
  for (int i = 0; i < kUnitsPerThread; ++i) {
    const int unit = first_unit + i * blockDim.x;
    if (unit < p.row_units) k_page[unit] = k_stage[i][slot];
  }

  auto* v_page = reinterpret_cast<Unit<kUnitBytes>*>(p.v_cache + page * p.v_cache_stride);
  __pipeline_wait_prior(0);
#pragma unroll
  for (int i = 0; i < kUnitsPerThread; ++i) {
    const int unit = first_unit + i * blockDim.x;
    if (unit < p.row_units) v_page[unit] = v_stage[i][slot];
  }
}

template <int kUnitBytes>
void launch(StoreKv p, int row_bytes, cudaStream_t stream) {
  p.row_units = row_bytes / kUnitBytes;
  // As many threads as a row needs; what is left of the block takes further tokens, so that short rows fill
  // it too.
  const int across = std::min(kThreads, ceil_div(p.row_units, kUnitsPerThread));
  const dim3 block(across, kThreads / across);
  const dim3 grid(ceil_div(p.seq_len, block.y), ceil_div(p.row_units, across * kUnitsPerThread));
  fused_store_kv_async<kUnitBytes><<<grid, block, 0, stream>>>(p);
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
