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
  // BEGIN SOLUTION  TODO 1: copy element i of the vector, a thread for each. The last block may be short.
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];
  // END SOLUTION
}

extern "C" int copy_one(const int* input_ids, int* captured_input_ids, int batch_size, cudaStream_t stream) {
  if (batch_size == 0) return cudaSuccess;
  copy_one_kernel<<<ceil_div(batch_size, kThreads), kThreads, 0, stream>>>(input_ids, captured_input_ids,
                                                                           batch_size);
  return cudaGetLastError();
}

// ---- Step 2: two vectors, still one launch ---------------------------------------------------------------

__global__ void copy_two_kernel(Sources from, Destinations to, int count) {
  // BEGIN SOLUTION  TODO 2: copy element i of input_ids and of out_loc. Load both before you store either.
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int input_id = from.input_ids[i];
  const int out_loc = from.out_loc[i];
  to.input_ids[i] = input_id;
  to.out_loc[i] = out_loc;
  // END SOLUTION
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
  // BEGIN SOLUTION  TODO 3: copy element i of the five vectors: loads first, then stores.
  // TODO: cu_seqlens_k holds where each request's keys begin and, last, where the last one's end: its
  // TODO: element `batch_size` belongs to it.
  const bool in_batch = i < batch_size;
  int input_id = 0, out_loc = 0, position = 0, seq_len = 0, cu_seqlen = 0;
  if (in_batch) {
    input_id = from.input_ids[i];
    out_loc = from.out_loc[i];
    position = from.positions[i];
    seq_len = from.seq_lens[i];
  }
  if (i <= batch_size) cu_seqlen = from.cu_seqlens_k[i];
  if (in_batch) {
    to.input_ids[i] = input_id;
    to.out_loc[i] = out_loc;
    to.positions[i] = position;
    to.seq_lens[i] = seq_len;
  }
  if (i <= batch_size) to.cu_seqlens_k[i] = cu_seqlen;
  // END SOLUTION
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
  // BEGIN SOLUTION  TODO 3: choose the grid so that every element has a thread. How many are there?
  // STARTER: const int blocks = 1;
  const int blocks = ceil_div(batch_size + 1, kThreads);
  // END SOLUTION
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
  // BEGIN SOLUTION  TODO 4: copy this thread's part of the row: loads first, then stores.
  // TODO: It is kHeld units, blockDim.x apart.
  // TODO: A row may start anywhere: elements before the first address that the unit divides, and those
  // TODO: behind the last whole unit, are copied one by one.
  constexpr int kElements = sizeof(Unit) / sizeof(int);
  const int misplaced = reinterpret_cast<uintptr_t>(to) / sizeof(int) % kElements;
  const int head = min(columns, (kElements - misplaced) % kElements);
  const int units = (columns - head) / kElements;
  const auto* unit_from = reinterpret_cast<const Unit*>(from + head);
  auto* unit_to = reinterpret_cast<Unit*>(to + head);
  const int first = piece * blockDim.x * kHeld + threadIdx.x;

  Unit held[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int unit = first + i * blockDim.x;
    if (unit < units) held[i] = __ldcs(&unit_from[unit]);  // nobody will ask for the source again
  }
  // At most kElements - 1 elements at either edge: the first threads of the row's first block have one each.
  const int x = threadIdx.x;
  const int edge = x < head ? x : x + units * kElements;
  const bool has_edge = kElements > 1 && piece == 0 && edge < columns && x < head + kElements - 1;
  int edge_value = 0;
  if (has_edge) edge_value = from[edge];

#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int unit = first + i * blockDim.x;
    if (unit < units) unit_to[unit] = held[i];
  }
  if (has_edge) to[edge] = edge_value;
  // END SOLUTION
}

// Units of 16 bytes need both sides of every row to be equally far from the last address that 16 divides.
bool can_move_16_bytes(const int* from, const int* to, const Table& table) {
  // BEGIN SOLUTION  TODO 4: when may rows be copied in units of 16 bytes?
  // TODO: Two pointers and two strides decide.
  // STARTER: return false;
  const uintptr_t apart = reinterpret_cast<uintptr_t>(from) - reinterpret_cast<uintptr_t>(to);
  const int64_t drift = table.rows > 1 ? table.source_stride - table.destination_stride : 0;
  return apart % 16 == 0 && drift % 4 == 0;
  // END SOLUTION
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
  // BEGIN SOLUTION  TODO 4: find this row on both sides.
  // TODO: The strides differ, and a row's number times its stride may pass 2^31.
  // STARTER: copy_row<Unit, kHeld>(from, to, table.columns, piece);
  copy_row<Unit, kHeld>(from + row * table.source_stride, to + row * table.destination_stride, table.columns,
                        piece);
  // END SOLUTION
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
  // BEGIN SOLUTION  TODO 5: deal the blocks out: the first `vector_blocks` take the vectors, the others rows.
  // TODO: A block has blockDim.x * blockDim.y threads. A row takes column_blocks blocks, one after the other.
  if (blockIdx.x < vector_blocks) {
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    copy_element(from, to, table.rows, blockIdx.x * blockDim.x * blockDim.y + thread);
    return;
  }
  const int block = blockIdx.x - vector_blocks;
  const int row_block =
      column_blocks == 1 ? block : block / column_blocks;  // no division where none is needed
  const int64_t row = int64_t{row_block} * blockDim.y + threadIdx.y;
  if (row >= table.rows) return;
  copy_row<Unit, kHeld>(from.page_table + row * table.source_stride,
                        to.page_table + row * table.destination_stride, table.columns,
                        block - row_block * column_blocks);
  // END SOLUTION
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
  // BEGIN SOLUTION  TODO 5: blocks for the vectors beside those for rows. With no columns, vectors alone.
  // STARTER: const int vector_blocks = 1;
  // STARTER: const int row_blocks = shape.row_blocks;
  const int vector_blocks = ceil_div(batch_size + 1, shape.block.x * shape.block.y);
  const int row_blocks = max_seqlen_k == 0 ? 0 : shape.row_blocks;
  // END SOLUTION
  const auto kernel = !shape.in_16_bytes ? fused_copy_kernel<uint32_t, kElementsHeld>
                      : shape.deep       ? fused_copy_kernel<uint4, kDeep>
                                         : fused_copy_kernel<uint4, kShallow>;
  kernel<<<vector_blocks + row_blocks * shape.column_blocks, shape.block, 0, stream>>>(
      from, to, table, vector_blocks, shape.column_blocks);
  return cudaGetLastError();
}
