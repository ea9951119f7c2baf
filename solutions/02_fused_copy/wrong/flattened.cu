// expect: correct mismatch: the page table is flattened: the captured rows are written without the gaps
// Design choice 3, option A: the page table as one long vector, which needs no rows and no strides.
//
// It is right only if neither side has gaps between rows. The captured page table always has gaps: it is as
// wide as the longest sequence allowed. Every row but the first lands in the wrong place, inside the table,
// where no memory check can see it.
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kThreads = 256;

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

__global__ void fused_copy_kernel(Sources from, Destinations to, Table table) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < table.rows) {
    to.input_ids[i] = from.input_ids[i];
    to.out_loc[i] = from.out_loc[i];
    to.positions[i] = from.positions[i];
    to.seq_lens[i] = from.seq_lens[i];
  }
  if (i <= table.rows) to.cu_seqlens_k[i] = from.cu_seqlens_k[i];
  if (i < int64_t{table.rows} * table.columns) to.page_table[i] = from.page_table[i];
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
  const int64_t elements = int64_t{batch_size} * max_seqlen_k + batch_size + 1;
  const auto blocks = static_cast<unsigned>((elements + kThreads - 1) / kThreads);
  fused_copy_kernel<<<blocks, kThreads, 0, stream>>>(from, to, table);
  return cudaGetLastError();
}
