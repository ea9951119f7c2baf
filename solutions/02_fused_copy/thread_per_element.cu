// Design choice 1, option A: one thread per element, for all fields.
//
// Elements have consecutive numbers: the five vectors one after the other, then the page table row by row. A
// thread finds the field of its number. This is the shortest way to write a fused copy; it moves 4 bytes per
// thread and needs a division for each element of the page table.
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
  int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int batch = table.rows;
  if (i < batch) {
    to.input_ids[i] = from.input_ids[i];
    return;
  }
  i -= batch;
  if (i < batch) {
    to.out_loc[i] = from.out_loc[i];
    return;
  }
  i -= batch;
  if (i < batch) {
    to.positions[i] = from.positions[i];
    return;
  }
  i -= batch;
  if (i < batch) {
    to.seq_lens[i] = from.seq_lens[i];
    return;
  }
  i -= batch;
  if (i <= batch) {
    to.cu_seqlens_k[i] = from.cu_seqlens_k[i];
    return;
  }
  i -= batch + 1;
  if (i >= int64_t{batch} * table.columns) return;
  const int64_t row = i / table.columns, column = i % table.columns;
  to.page_table[row * table.destination_stride + column] =
      from.page_table[row * table.source_stride + column];
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
  const int64_t elements = int64_t{batch_size} * (5 + max_seqlen_k) + 1;
  const auto blocks = static_cast<unsigned>((elements + kThreads - 1) / kThreads);
  fused_copy_kernel<<<blocks, kThreads, 0, stream>>>(from, to, table);
  return cudaGetLastError();
}
