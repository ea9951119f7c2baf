// Fused copy: everything a captured decoding step reads is brought up to date in one launch: five vectors and
// the used corner of a page table.
//
// How memory flows: the grid is dealt out. Its first blocks take the vectors, a thread the same element of
// all five; the others take the page table by rows, threadIdx.y counting rows and threadIdx.x places in a
// row; neighbouring blocks take neighbouring pieces. A row moves in units of 16 bytes wherever both sides
// allow, with up to three elements at each edge moved one by one. A thread loads all it will move before it
// stores any of it: one trip to memory. Many units for each thread pay once there are blocks for all SMs.
//
// The exercise grows to that in five steps, each an entry point of its own; see README.md.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "units.cuh"

#ifndef BLOCK_THREADS
#define BLOCK_THREADS 128
#endif
#ifndef DEPTH
#define DEPTH 8
#endif
constexpr int kThreads = BLOCK_THREADS;          // of a block, at most
constexpr int kDeep = DEPTH;                     // 16-byte units of a row that a thread has in flight
constexpr int kShallow = kDeep < 2 ? kDeep : 2;  // the same where the table is small
constexpr int kElementsHeld = 8;                 // single elements, where units do not fit
constexpr int kManyBlocks = 128;                 // about as many as there are SMs

// What a batch brings, [batch_size] each but for the last two.
struct Sources {
  const int* input_ids;
  const int* out_loc;
  const int* positions;
  const int* seq_lens;
  const int* cu_seqlens_k;  // [batch_size + 1]
  const int* page_table;    // [batch_size, max_seqlen_k], rows `source_row_stride` elements apart
};

// Where the captured graph reads it: as large as the largest captured batch.
struct Destinations {
  int* input_ids;
  int* out_loc;
  int* positions;
  int* seq_lens;
  int* cu_seqlens_k;
  int* page_table;  // rows `destination_row_stride` elements apart, which is more than max_seqlen_k
};

// The part of the page tables that is copied.
struct Table {
  int rows, columns;
  int64_t source_stride, destination_stride;  // from row to row, in elements
};

// ---- Step 1: one vector ----------------------------------------------------------------------------------

__global__ void copy_one_kernel(const int* from, int* to, int count) {
  // TODO 1: copy element i of the vector, a thread for each. The last block may be short.
}

extern "C" int copy_one(const int* input_ids, int* captured_input_ids, int batch_size, cudaStream_t stream) {
  if (batch_size == 0) return cudaSuccess;
  copy_one_kernel<<<ceil_div(batch_size, kThreads), kThreads, 0, stream>>>(input_ids, captured_input_ids,
                                                                           batch_size);
  return cudaGetLastError();
}

// ---- Step 2: two vectors, still one launch ---------------------------------------------------------------

__global__ void copy_two_kernel(Sources from, Destinations to, int count) {
  // TODO 2: copy element i of input_ids and of out_loc. Load both before you store either.
}

extern "C" int copy_two(const int* input_ids, const int* out_loc, int* captured_input_ids,
                        int* captured_out_loc, int batch_size, cudaStream_t stream) {
  if (batch_size == 0) return cudaSuccess;
  Sources from{};
  from.input_ids = input_ids;
  from.out_loc = out_loc;
  Destinations to{};
  to.input_ids = captured_input_ids;
  to.out_loc = captured_out_loc;
  copy_two_kernel<<<ceil_div(batch_size, kThreads), kThreads, 0, stream>>>(from, to, batch_size);
  return cudaGetLastError();
}

// ---- Step 3: all five vectors, one of which is longer ----------------------------------------------------

// Element i of all five. The four of `batch_size` elements and cu_seqlens_k have different ends.
__device__ void copy_element(const Sources& from, const Destinations& to, int batch_size, int i) {
  // TODO 3: copy element i of the five vectors: loads first, then stores.
  // cu_seqlens_k holds where each request's keys begin and, last, where the last one's end: its
  // element `batch_size` belongs to it.
}

__global__ void copy_vectors_kernel(Sources from, Destinations to, int batch_size) {
  copy_element(from, to, batch_size, blockIdx.x * blockDim.x + threadIdx.x);
}

extern "C" int copy_vectors(const int* input_ids, const int* out_loc, const int* positions,
                            const int* seq_lens, const int* cu_seqlens_k, int* captured_input_ids,
                            int* captured_out_loc, int* captured_positions, int* captured_seq_lens,
                            int* captured_cu_seqlens_k, int batch_size, cudaStream_t stream) {
  if (batch_size == 0) return cudaSuccess;
  const Sources from{input_ids, out_loc, positions, seq_lens, cu_seqlens_k, nullptr};
  const Destinations to{captured_input_ids, captured_out_loc,      captured_positions,
                        captured_seq_lens,  captured_cu_seqlens_k, nullptr};
  // TODO 3: choose the grid so that every element has a thread. How many are there?
  const int blocks = 1;
  copy_vectors_kernel<<<blocks, kThreads, 0, stream>>>(from, to, batch_size);
  return cudaGetLastError();
}

// ---- Step 4: the page table ------------------------------------------------------------------------------

// Which threads move which part of the page table. The kernel is written for units of 16 bytes and of 4.
struct Shape {
  dim3 block;         // x along a row, y over rows
  int row_blocks;     // blocks over all rows
  int column_blocks;  // blocks along a row
  bool in_16_bytes;   // else one element at a time
  bool deep;          // many units for each thread
};

// This thread's units of one row: `from` and `to` are the row's starts, `piece` the block's place along it.
template <typename Unit, int kHeld>
__device__ void copy_row(const int* from, int* to, int columns, int piece) {
  // TODO 4: copy this thread's part of the row: loads first, then stores.
  // It is kHeld units, blockDim.x apart.
  // A row may start anywhere: elements before the first address that the unit divides, and those
  // behind the last whole unit, are copied one by one.
}

// Units of 16 bytes need both sides of every row to be equally far from the last address that 16 divides.
bool can_move_16_bytes(const int* from, const int* to, const Table& table) {
  // TODO 4: when may rows be copied in units of 16 bytes?
  // Two pointers and two strides decide.
  return false;
}

Shape shape_of(const int* from, const int* to, const Table& table) {
  Shape shape{};
  shape.in_16_bytes = can_move_16_bytes(from, to, table);
  const int units = shape.in_16_bytes ? ceil_div(table.columns, 4) : table.columns;
  // As many threads as a row has units, and at least as many as edges; what is left of the block takes
  // further rows.
  const int across = std::min(kThreads, std::max(units, 8));
  shape.block = dim3(across, std::min(kThreads / across, table.rows));
  shape.row_blocks = ceil_div(table.rows, shape.block.y);
  shape.deep = int64_t{shape.row_blocks} * ceil_div(units, across * kDeep) >= kManyBlocks;
  const int held = shape.in_16_bytes ? (shape.deep ? kDeep : kShallow) : kElementsHeld;
  shape.column_blocks = ceil_div(units, across * held);
  return shape;
}

template <typename Unit, int kHeld>
__global__ void __launch_bounds__(kThreads)
    copy_page_table_kernel(const int* __restrict__ from, int* __restrict__ to, Table table,
                           int column_blocks) {
  const int64_t row = int64_t{blockIdx.x / column_blocks} * blockDim.y + threadIdx.y;
  const int piece = blockIdx.x % column_blocks;
  if (row >= table.rows) return;
  // TODO 4: find this row on both sides.
  // The strides differ, and a row's number times its stride may pass 2^31.
  copy_row<Unit, kHeld>(from, to, table.columns, piece);
}

// Sizes that no call can mean: rows of the destination must not overlap.
bool is_refused(const Table& table) {
  if (table.rows < 0 || table.columns < 0) return true;
  return table.rows > 1 && table.destination_stride < table.columns;
}

extern "C" int copy_page_table(const int* page_table, int* captured_page_table, int batch_size,
                               int max_seqlen_k, int64_t source_row_stride, int64_t destination_row_stride,
                               cudaStream_t stream) {
  const Table table{batch_size, max_seqlen_k, source_row_stride, destination_row_stride};
  if (is_refused(table)) return cudaErrorInvalidValue;
  if (batch_size == 0 || max_seqlen_k == 0) return cudaSuccess;
  const Shape shape = shape_of(page_table, captured_page_table, table);
  const auto kernel = !shape.in_16_bytes ? copy_page_table_kernel<uint32_t, kElementsHeld>
                      : shape.deep       ? copy_page_table_kernel<uint4, kDeep>
                                         : copy_page_table_kernel<uint4, kShallow>;
  kernel<<<shape.row_blocks * shape.column_blocks, shape.block, 0, stream>>>(page_table, captured_page_table,
                                                                             table, shape.column_blocks);
  return cudaGetLastError();
}

// ---- Step 5: the whole -----------------------------------------------------------------------------------

template <typename Unit, int kHeld>
__global__ void __launch_bounds__(kThreads)
    fused_copy_kernel(const __grid_constant__ Sources from, const __grid_constant__ Destinations to,
                      const Table table, const int vector_blocks, const int column_blocks) {
  // TODO 5: deal the blocks out: the first `vector_blocks` take the vectors, the others rows.
  // A block has blockDim.x * blockDim.y threads. A row takes column_blocks blocks, one after the other.
}

extern "C" int fused_copy_replay_data(const int* input_ids, const int* out_loc, const int* positions,
                                      const int* seq_lens, const int* cu_seqlens_k, const int* page_table,
                                      int* captured_input_ids, int* captured_out_loc, int* captured_positions,
                                      int* captured_seq_lens, int* captured_cu_seqlens_k,
                                      int* captured_page_table, int batch_size, int max_seqlen_k,
                                      int64_t source_row_stride, int64_t destination_row_stride,
                                      cudaStream_t stream) {
  const Sources from{input_ids, out_loc, positions, seq_lens, cu_seqlens_k, page_table};
  const Destinations to{captured_input_ids, captured_out_loc,      captured_positions,
                        captured_seq_lens,  captured_cu_seqlens_k, captured_page_table};
  const Table table{batch_size, max_seqlen_k, source_row_stride, destination_row_stride};
  if (is_refused(table)) return cudaErrorInvalidValue;
  if (batch_size == 0) return cudaSuccess;
  const Shape shape = shape_of(page_table, captured_page_table, table);
  // TODO 5: blocks for the vectors beside those for rows. With no columns, vectors alone.
  const int vector_blocks = 1;
  const int row_blocks = shape.row_blocks;
  const auto kernel = !shape.in_16_bytes ? fused_copy_kernel<uint32_t, kElementsHeld>
                      : shape.deep       ? fused_copy_kernel<uint4, kDeep>
                                         : fused_copy_kernel<uint4, kShallow>;
  kernel<<<vector_blocks + row_blocks * shape.column_blocks, shape.block, 0, stream>>>(
      from, to, table, vector_blocks, shape.column_blocks);
  return cudaGetLastError();
}
