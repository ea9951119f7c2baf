// Design choice 1, option B: one warp per row of the page table, its lanes on consecutive units of 16
// bytes.
//
// After the warps that have a row come those that copy the vectors, a lane the same element of all five.
// Only tables whose rows are all aligned to 16 bytes take the wide path; others move one element at a time.
// If rows are few and long, few warps have all the work: compare with kernel.cu, whose blocks share a row.
#include <cuda_runtime.h>

#include <cstdint>

#include "units.cuh"

constexpr int kLanes = 32;
constexpr int kWarps = 4;  // of a block
constexpr int kDepth = 8;  // units of a lane in flight

struct Sources {
  const int *input_ids, *out_loc, *positions, *seq_lens, *cu_seqlens_k, *page_table;
};

struct Destinations {
  int *input_ids, *out_loc, *positions, *seq_lens, *cu_seqlens_k, *page_table;
};

struct Table {
  int rows, columns;
  int64_t source_stride, destination_stride;  // from row to row, in elements
};

template <typename Unit>
__device__ void copy_row(const int* from, int* to, int columns, int lane) {
  constexpr int kElements = sizeof(Unit) / sizeof(int);
  const auto* unit_from = reinterpret_cast<const Unit*>(from);
  auto* unit_to = reinterpret_cast<Unit*>(to);
  const int units = columns / kElements;
  for (int start = lane; start < units; start += kLanes * kDepth) {
    Unit held[kDepth];
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (start + i * kLanes < units) held[i] = unit_from[start + i * kLanes];
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (start + i * kLanes < units) unit_to[start + i * kLanes] = held[i];
    }
  }
}

__device__ void copy_element(const Sources& from, const Destinations& to, int batch, int64_t i) {
  if (i < batch) {
    const int input_id = from.input_ids[i], out_loc = from.out_loc[i];
    const int position = from.positions[i], seq_len = from.seq_lens[i];
    to.input_ids[i] = input_id;
    to.out_loc[i] = out_loc;
    to.positions[i] = position;
    to.seq_lens[i] = seq_len;
  }
  if (i <= batch) to.cu_seqlens_k[i] = from.cu_seqlens_k[i];
}

template <typename Unit>
__global__ void __launch_bounds__(kLanes* kWarps)
    fused_copy_kernel(const __grid_constant__ Sources from, const __grid_constant__ Destinations to,
                      Table table) {
  const int64_t warp = int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  if (warp < table.rows) {
    copy_row<Unit>(from.page_table + warp * table.source_stride,
                   to.page_table + warp * table.destination_stride, table.columns, lane);
  } else {
    copy_element(from, to, table.rows, (warp - table.rows) * kLanes + lane);
  }
}

extern "C" int fused_copy_replay_data(const int* input_ids, const int* out_loc, const int* positions,
                                      const int* seq_lens, const int* cu_seqlens_k, const int* page_table,
                                      int* captured_input_ids, int* captured_out_loc, int* captured_positions,
                                      int* captured_seq_lens, int* captured_cu_seqlens_k,
                                      int* captured_page_table, int batch_size, int max_seqlen_k,
                                      int64_t source_row_stride, int64_t destination_row_stride,
                                      cudaStream_t stream) {
  if (batch_size < 0 || max_seqlen_k < 0 || (batch_size > 1 && destination_row_stride < max_seqlen_k)) {
    return cudaErrorInvalidValue;
  }
  if (batch_size == 0) return cudaSuccess;
  const Sources from{input_ids, out_loc, positions, seq_lens, cu_seqlens_k, page_table};
  const Destinations to{captured_input_ids, captured_out_loc,      captured_positions,
                        captured_seq_lens,  captured_cu_seqlens_k, captured_page_table};
  const Table table{batch_size, max_seqlen_k, source_row_stride, destination_row_stride};
  const int warps = batch_size + ceil_div(batch_size + 1, kLanes);
  const int blocks = ceil_div(warps, kWarps);
  if (widest_unit_bytes(page_table, captured_page_table, source_row_stride * 4, destination_row_stride * 4,
                        int64_t{max_seqlen_k} * 4) == 16) {
    fused_copy_kernel<uint4><<<blocks, kLanes * kWarps, 0, stream>>>(from, to, table);
  } else {
    fused_copy_kernel<uint32_t><<<blocks, kLanes * kWarps, 0, stream>>>(from, to, table);
  }
  return cudaGetLastError();
}
