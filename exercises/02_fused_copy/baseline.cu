// The copies to beat: a plain kernel for each field, six launches one after the other, as six `.copy_` calls
// make them.
//
// Each kernel by itself is good: a thread moves one unit, the page table in units of 16 bytes where its rows
// allow. Six launches make it slow.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "units.cuh"

constexpr int kThreads = 256;

__global__ void copy_vector(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
}

// threadIdx.y is one of the block's rows, threadIdx.x a unit of it. Strides are in units.
template <int kUnitBytes>
__global__ void copy_rows_kernel(const Unit<kUnitBytes>* from, Unit<kUnitBytes>* to, int rows, int row_units,
                                 int64_t from_stride, int64_t to_stride) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const int unit = blockIdx.y * blockDim.x + threadIdx.x;
  if (row < rows && unit < row_units) to[row * to_stride + unit] = from[row * from_stride + unit];
}

void launch_vector(const int* from, int* to, int count, cudaStream_t stream) {
  copy_vector<<<ceil_div(count, kThreads), kThreads, 0, stream>>>(from, to, count);
}

template <int kUnitBytes>
void launch_rows(const int* from, int* to, int rows, int columns, int64_t from_stride, int64_t to_stride,
                 cudaStream_t stream) {
  constexpr int kElements = kUnitBytes / static_cast<int>(sizeof(int));
  const int row_units = columns / kElements;
  const int across = std::min(kThreads, row_units);
  const dim3 block(across, kThreads / across);
  const dim3 grid(ceil_div(rows, block.y), ceil_div(row_units, across));
  copy_rows_kernel<kUnitBytes><<<grid, block, 0, stream>>>(
      reinterpret_cast<const Unit<kUnitBytes>*>(from), reinterpret_cast<Unit<kUnitBytes>*>(to), rows,
      row_units, from_stride / kElements, to_stride / kElements);
}

void launch_page_table(const int* from, int* to, int rows, int columns, int64_t from_stride,
                       int64_t to_stride, cudaStream_t stream) {
  const int unit = widest_unit_bytes(from, to, from_stride * 4, to_stride * 4, int64_t{columns} * 4);
  const auto launch = unit == 16 ? launch_rows<16> : unit == 8 ? launch_rows<8> : launch_rows<4>;
  launch(from, to, rows, columns, from_stride, to_stride, stream);
}

bool is_refused(int rows, int columns, int64_t destination_stride) {
  return rows < 0 || columns < 0 || (rows > 1 && destination_stride < columns);
}

extern "C" int copy_one(const int* input_ids, int* captured_input_ids, int batch_size, cudaStream_t stream) {
  if (batch_size > 0) launch_vector(input_ids, captured_input_ids, batch_size, stream);
  return cudaGetLastError();
}

extern "C" int copy_two(const int* input_ids, const int* out_loc, int* captured_input_ids,
                        int* captured_out_loc, int batch_size, cudaStream_t stream) {
  copy_one(input_ids, captured_input_ids, batch_size, stream);
  return copy_one(out_loc, captured_out_loc, batch_size, stream);
}

extern "C" int copy_vectors(const int* input_ids, const int* out_loc, const int* positions,
                            const int* seq_lens, const int* cu_seqlens_k, int* captured_input_ids,
                            int* captured_out_loc, int* captured_positions, int* captured_seq_lens,
                            int* captured_cu_seqlens_k, int batch_size, cudaStream_t stream) {
  if (batch_size == 0) return cudaSuccess;
  launch_vector(input_ids, captured_input_ids, batch_size, stream);
  launch_vector(out_loc, captured_out_loc, batch_size, stream);
  launch_vector(positions, captured_positions, batch_size, stream);
  launch_vector(seq_lens, captured_seq_lens, batch_size, stream);
  launch_vector(cu_seqlens_k, captured_cu_seqlens_k, batch_size + 1, stream);
  return cudaGetLastError();
}

extern "C" int copy_page_table(const int* page_table, int* captured_page_table, int batch_size,
                               int max_seqlen_k, int64_t source_row_stride, int64_t destination_row_stride,
                               cudaStream_t stream) {
  if (is_refused(batch_size, max_seqlen_k, destination_row_stride)) return cudaErrorInvalidValue;
  if (batch_size == 0 || max_seqlen_k == 0) return cudaSuccess;
  launch_page_table(page_table, captured_page_table, batch_size, max_seqlen_k, source_row_stride,
                    destination_row_stride, stream);
  return cudaGetLastError();
}

extern "C" int copy_rows(const int* page_table, int* captured_page_table, int batch_size, int max_seqlen_k,
                         int64_t source_row_stride, int64_t destination_row_stride, cudaStream_t stream) {
  return copy_page_table(page_table, captured_page_table, batch_size, max_seqlen_k, source_row_stride,
                         destination_row_stride, stream);
}

extern "C" int copy_aligned_rows(const int* page_table, int* captured_page_table, int batch_size,
                                 int max_seqlen_k, int64_t source_row_stride, int64_t destination_row_stride,
                                 cudaStream_t stream) {
  return copy_page_table(page_table, captured_page_table, batch_size, max_seqlen_k, source_row_stride,
                         destination_row_stride, stream);
}

extern "C" int fused_copy_replay_data(const int* input_ids, const int* out_loc, const int* positions,
                                      const int* seq_lens, const int* cu_seqlens_k, const int* page_table,
                                      int* captured_input_ids, int* captured_out_loc, int* captured_positions,
                                      int* captured_seq_lens, int* captured_cu_seqlens_k,
                                      int* captured_page_table, int batch_size, int max_seqlen_k,
                                      int64_t source_row_stride, int64_t destination_row_stride,
                                      cudaStream_t stream) {
  if (is_refused(batch_size, max_seqlen_k, destination_row_stride)) return cudaErrorInvalidValue;
  copy_vectors(input_ids, out_loc, positions, seq_lens, cu_seqlens_k, captured_input_ids, captured_out_loc,
               captured_positions, captured_seq_lens, captured_cu_seqlens_k, batch_size, stream);
  return copy_page_table(page_table, captured_page_table, batch_size, max_seqlen_k, source_row_stride,
                         destination_row_stride, stream);
}
