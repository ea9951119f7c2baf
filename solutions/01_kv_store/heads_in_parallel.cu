// Bonus 2: heads in parallel. A warp takes one head of one token, lanes 0-15 its K and lanes 16-31 its V, so
// that one warp has all of a head: the shape that a store needs when it must also do something
// for each head, such as a rotation or a scale.
//
// threadIdx.x is the lane, threadIdx.y the warp; the block's warps take consecutive heads, and after the last
// head of a token the first of the next. Both halves wait together: no K is stored while its V is in flight.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "units.cuh"

constexpr int kLanes = 32;
constexpr int kHalfWarp = kLanes / 2;
constexpr int kWarps = 4;
constexpr int kDepth =
    4;  // units of a lane in flight: with 16-byte units heads of up to 512 elements take one pass

struct StoreKv {
  __half* k_cache;
  __half* v_cache;
  const int* indices;  // [seq_len], the page of each token, all different
  const __half* k;
  const __half* v;
  int64_t k_stride, v_stride;  // from row to row, in elements
  int64_t k_cache_stride, v_cache_stride;
  int seq_len, heads, head_dim;
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
__global__ void __launch_bounds__(kLanes* kWarps) fused_store_kv_heads(StoreKv p) {
  __shared__ Unit<kUnitBytes> stage[kWarps][kDepth][kLanes];
  const int64_t job = int64_t{blockIdx.x} * kWarps + threadIdx.y;
  const int64_t token = job / p.heads;
  if (token >= p.seq_len) return;
  const int64_t in_row = job % p.heads * p.head_dim;

  // Pointers select K or V for a lane: the copy itself does not branch.
  const bool is_v = threadIdx.x >= kHalfWarp;
  const __half* from = is_v ? p.v + token * p.v_stride : p.k + token * p.k_stride;
  const auto* head = reinterpret_cast<const Unit<kUnitBytes>*>(from + in_row);
  const int head_units = p.head_dim * static_cast<int>(sizeof(__half)) / kUnitBytes;
  __half* cache = is_v ? p.v_cache : p.k_cache;
  const int64_t cache_stride = is_v ? p.v_cache_stride : p.k_cache_stride;

  for (int start = threadIdx.x % kHalfWarp; start < head_units; start += kDepth * kHalfWarp) {
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const int unit = start + i * kHalfWarp;
      if (unit < head_units) copy_async<kUnitBytes>(&stage[threadIdx.y][i][threadIdx.x], &head[unit]);
    }
    __pipeline_commit();
    const int64_t page = p.indices[token];  // arrives while the head is in flight
    auto* to = reinterpret_cast<Unit<kUnitBytes>*>(cache + page * cache_stride + in_row);
    __pipeline_wait_prior(0);
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const int unit = start + i * kHalfWarp;
      if (unit < head_units) to[unit] = stage[threadIdx.y][i][threadIdx.x];
    }
  }
}

template <int kUnitBytes>
void launch(const StoreKv& p, cudaStream_t stream) {
  const int64_t jobs = int64_t{p.seq_len} * p.heads;
  const auto blocks = static_cast<unsigned>((jobs + kWarps - 1) / kWarps);
  fused_store_kv_heads<kUnitBytes><<<blocks, dim3(kLanes, kWarps), 0, stream>>>(p);
}

extern "C" int fused_store_kv_async(__half* k_cache, __half* v_cache, const int* indices, const __half* k,
                                    const __half* v, int64_t k_stride, int64_t v_stride,
                                    int64_t k_cache_stride, int64_t v_cache_stride, int seq_len, int heads,
                                    int head_dim, cudaStream_t stream) {
  if (seq_len == 0 || heads == 0 || head_dim == 0) return cudaSuccess;
  const StoreKv p{k_cache,  v_cache,        indices,        k,       v,     k_stride,
                  v_stride, k_cache_stride, v_cache_stride, seq_len, heads, head_dim};
  // A head starts at any multiple of head_dim, so its size counts here and not that of the row.
  switch (widest_unit_bytes(k_cache, v_cache, k, v, k_stride * 2, v_stride * 2, k_cache_stride * 2,
                            v_cache_stride * 2, int64_t{head_dim} * 2)) {
    case 16:
      launch<16>(p, stream);
      break;
    case 8:
      launch<8>(p, stream);
      break;
    case 4:
      launch<4>(p, stream);
      break;
    default:
      launch<2>(p, stream);
      break;
  }
  return cudaGetLastError();
}
