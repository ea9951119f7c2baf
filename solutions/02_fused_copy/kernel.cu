// Fused copy: one launch updates everything that a captured decoding step reads: five vectors and the used
// corner of a page table.
//
// How memory flows: the first rows of blocks take the vectors, a thread the same element of all five. The
// other blocks take the page table, x along a row and y over rows, for blocks and for threads alike:
// neighbouring blocks take neighbouring pieces, and no thread divides. A row moves in units of 16 bytes
// wherever both sides allow, with up to three elements at each edge moved one by one. A thread loads all that
// it moves before it stores any of it: one round trip to memory. Many units per thread pay once there are
// blocks for all SMs.
//
// The exercise grows to that in seven steps, each an entry point of its own; see README.md.
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
constexpr int kThreads = BLOCK_THREADS;  // of a block, at most
constexpr int kManyBlocks = 128;         // about as many as there are SMs
constexpr int kMostRows = 32'768;        // a grid has at most 65,535 blocks along y
constexpr int kDeepest = DEPTH;          // 16-byte units of a row that a thread has in flight

// How many units that is: fewer where the table is small, and a fixed number of single elements.
template <typename Unit>
__host__ __device__ constexpr int units_held(bool deep) {
  if (sizeof(Unit) == sizeof(int)) return 8;
  return deep || kDeepest < 2 ? kDeepest : 2;
}

// The vectors that a batch brings, [batch_size] each but for the last.
struct Sources {
  const int* input_ids;
  const int* out_loc;
  const int* positions;
  const int* seq_lens;
  const int* cu_seqlens_k;  // [batch_size + 1]
};

// Where the captured graph reads them: as long as the largest captured batch.
struct Destinations {
  int* input_ids;
  int* out_loc;
  int* positions;
  int* seq_lens;
  int* cu_seqlens_k;
};

// The part of the page tables that is copied: batch_size rows of max_seqlen_k elements.
struct Table {
  const int* source;
  int* destination;
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
  const Sources from{input_ids, out_loc, positions, seq_lens, cu_seqlens_k};
  const Destinations to{captured_input_ids, captured_out_loc, captured_positions, captured_seq_lens,
                        captured_cu_seqlens_k};
  // BEGIN SOLUTION  TODO 3: choose the grid so that every element has a thread. How many are there?
  // STARTER: const int blocks = 1;
  const int blocks = ceil_div(batch_size + 1, kThreads);
  // END SOLUTION
  copy_vectors_kernel<<<blocks, kThreads, 0, stream>>>(from, to, batch_size);
  return cudaGetLastError();
}

// ---- Step 4: rows with two strides -----------------------------------------------------------------------

// Where one row begins, on both sides.
struct Row {
  const int* from;
  int* to;
};

__device__ Row row_of(const Table& table, int64_t row) {
  // BEGIN SOLUTION  TODO 4: find this row on both sides.
  // TODO: The strides differ, and a row's number times its stride may pass 2^31.
  // STARTER: return {table.source, table.destination};
  return {table.source + row * table.source_stride, table.destination + row * table.destination_stride};
  // END SOLUTION
}

// A block of steps 4 and 5: x along a row, one warp per row, and y over rows. No thread divides.
constexpr int kRowsOfBlock = kThreads / 32;

__global__ void copy_rows_kernel(const Table table) {
  // BEGIN SOLUTION  TODO 4: copy one element, column x of row y.
  // TODO: Some threads of the last blocks have no column, others no row.
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= table.rows || column >= table.columns) return;
  const Row row = row_of(table, y);
  row.to[column] = row.from[column];
  // END SOLUTION
}

// Sizes that have no meaning: rows of the destination must not overlap.
bool is_refused(const Table& table) {
  if (table.rows < 0 || table.rows > kMostRows || table.columns < 0) return true;
  return table.rows > 1 && table.destination_stride < table.columns;
}

extern "C" int copy_rows(const int* page_table, int* captured_page_table, int batch_size, int max_seqlen_k,
                         int64_t source_row_stride, int64_t destination_row_stride, cudaStream_t stream) {
  const Table table{page_table,   captured_page_table, batch_size,
                    max_seqlen_k, source_row_stride,   destination_row_stride};
  if (is_refused(table)) return cudaErrorInvalidValue;
  if (batch_size == 0 || max_seqlen_k == 0) return cudaSuccess;
  const dim3 block(32, kRowsOfBlock);
  // BEGIN SOLUTION  TODO 4: choose the grid so that every element of every row has a thread.
  // STARTER: const dim3 grid(1, 1);
  const dim3 grid(ceil_div(table.columns, block.x), ceil_div(table.rows, block.y));
  // END SOLUTION
  copy_rows_kernel<<<grid, block, 0, stream>>>(table);
  return cudaGetLastError();
}

// ---- Step 5: sixteen bytes at a time, where every row is aligned -----------------------------------------

// Here both sides of every row begin at a multiple of 16 bytes. The last columns may be fewer than a unit.
__global__ void copy_aligned_rows_kernel(const Table table) {
  // BEGIN SOLUTION  TODO 5: copy one unit of 16 bytes, a uint4: unit x of row y.
  // TODO: A row has columns / 4 whole units. The first threads of a row also copy one element each of those
  // TODO: that are left. Loads first, then stores.
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (y >= table.rows) return;
  const Row row = row_of(table, y);
  const int units = table.columns / 4;
  const int last = units * 4 + x;
  uint4 unit{};
  int element = 0;
  if (x < units) unit = reinterpret_cast<const uint4*>(row.from)[x];
  if (last < table.columns) element = row.from[last];
  if (x < units) reinterpret_cast<uint4*>(row.to)[x] = unit;
  if (last < table.columns) row.to[last] = element;
  // END SOLUTION
}

extern "C" int copy_aligned_rows(const int* page_table, int* captured_page_table, int batch_size,
                                 int max_seqlen_k, int64_t source_row_stride, int64_t destination_row_stride,
                                 cudaStream_t stream) {
  const Table table{page_table,   captured_page_table, batch_size,
                    max_seqlen_k, source_row_stride,   destination_row_stride};
  if (is_refused(table)) return cudaErrorInvalidValue;
  if (batch_size == 0 || max_seqlen_k == 0) return cudaSuccess;
  const dim3 block(32, kRowsOfBlock);
  // BEGIN SOLUTION  TODO 5: choose the grid. A row of 3 columns has no whole unit, and needs threads too.
  // STARTER: const dim3 grid(1, 1);
  const dim3 grid(ceil_div(ceil_div(table.columns, 4), block.x), ceil_div(table.rows, block.y));
  // END SOLUTION
  copy_aligned_rows_kernel<<<grid, block, 0, stream>>>(table);
  return cudaGetLastError();
}

// ---- Step 6: the page table, wherever its rows begin -----------------------------------------------------

// Which threads move which part of the page table. The kernel is written for units of 16 bytes and of 4.
struct Shape {
  dim3 block;         // x along a row, y over rows
  int row_blocks;     // blocks over all rows
  int column_blocks;  // blocks along a row
  bool in_16_bytes;   // else one element at a time
  bool has_edges;     // some elements of a row are in no such unit
  bool deep;          // many units for each thread
};

// Threads of a block along a row. A deep row takes them all, a number that the compiler knows.
template <bool kDeep>
__device__ int across() {
  return kDeep ? kThreads : blockDim.x;
}

// Elements of a row before its first whole unit, which begins at a multiple of the unit's size.
template <typename Unit, bool kEdges>
__device__ int head_of(const int* to, int columns) {
  // BEGIN SOLUTION  TODO 6: how many elements is `to` before the next multiple of sizeof(Unit) bytes?
  // TODO: 0 if it is at one, as it always is without kEdges. A row may also end before.
  // STARTER: return 0;
  constexpr int kElements = sizeof(Unit) / sizeof(int);
  const int misplaced = kEdges ? reinterpret_cast<uintptr_t>(to) / sizeof(int) % kElements : 0;
  return min(columns, (kElements - misplaced) % kElements);
  // END SOLUTION
}

// This thread's units of one row, which begins at `from` on one side and at `to` on the other.
template <typename Unit, bool kDeep, bool kEdges>
__device__ void copy_row(const int* from, int* to, int columns) {
  // BEGIN SOLUTION  TODO 6: copy this thread's part of the row: loads first, then stores.
  // TODO: It is units_held<Unit>(kDeep) units, across<kDeep>() apart; blockIdx.x is the block's place along
  // TODO: the row. Each may be past the row's last whole unit.
  // TODO: With kEdges a row may begin and end inside a unit: head_of elements come before the first whole
  // TODO: unit, some more after the last. Threads of the row's first block copy one of these elements each.
  constexpr int kElements = sizeof(Unit) / sizeof(int);
  const int head = head_of<Unit, kEdges>(to, columns);
  const int units = (columns - head) / kElements;
  constexpr int kHeld = units_held<Unit>(kDeep);
  const int step = across<kDeep>();
  const int first = blockIdx.x * step * kHeld + threadIdx.x;
  const auto* unit_from = reinterpret_cast<const Unit*>(from + head) + first;
  auto* unit_to = reinterpret_cast<Unit*>(to + head) + first;

  // At most kElements - 1 elements at either edge: the first threads of the row's first block have one each.
  const int x = threadIdx.x;
  const int edge = x < head ? x : x + units * kElements;
  const bool has_edge = kEdges && blockIdx.x == 0 && edge < columns && x < head + kElements - 1;
  int edge_value = 0;
  if (has_edge) edge_value = from[edge];

  const int left = units - first;
  Unit held[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (i * step < left) held[i] = __ldcs(&unit_from[i * step]);  // the source is not read again
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if (i * step < left) unit_to[i * step] = held[i];
  }
  if (has_edge) to[edge] = edge_value;
  // END SOLUTION
}

// The rows of a block. `block` is its place over rows; blocks for the vectors may come before it.
template <typename Unit, bool kDeep, bool kEdges>
__device__ void copy_rows_of(const Table& table, int block) {
  const int64_t y = kDeep ? block : int64_t{block} * blockDim.y + threadIdx.y;
  if (y >= table.rows) return;
  const Row row = row_of(table, y);
  copy_row<Unit, kDeep, kEdges>(row.from, row.to, table.columns);
}

// For units of 16 bytes both sides of every row must be equally far from the last multiple of 16 bytes.
bool can_move_16_bytes(const Table& table) {
  // BEGIN SOLUTION  TODO 6: when may rows be copied in units of 16 bytes?
  // TODO: Two pointers and two strides decide.
  // STARTER: return false;
  const uint64_t apart = address_bits(table.source) - address_bits(table.destination);
  const int64_t drift = table.rows > 1 ? table.source_stride - table.destination_stride : 0;
  return apart % 16 == 0 && drift % 4 == 0;
  // END SOLUTION
}

// Whether some row begins or ends inside a unit of 16 bytes.
bool has_edges(const Table& table) {
  const int64_t stride = table.rows > 1 ? table.destination_stride : 0;
  return widest_unit_bytes(table.destination, stride * 4, int64_t{table.columns} * 4) < 16;
}

Shape shape_of(const Table& table) {
  Shape shape{};
  shape.in_16_bytes = can_move_16_bytes(table);
  shape.has_edges = shape.in_16_bytes && has_edges(table);
  const int units = shape.in_16_bytes ? ceil_div(table.columns, 4) : table.columns;
  // As many threads as a row has units, and at least as many as edges; what is left of the block takes
  // further rows.
  const int across = std::min(kThreads, std::max(units, 8));
  shape.block = dim3(across, std::min(kThreads / across, table.rows));
  shape.row_blocks = ceil_div(table.rows, shape.block.y);
  const auto pieces = [&](bool deep) {
    const int held = shape.in_16_bytes ? units_held<uint4>(deep) : units_held<uint32_t>(deep);
    return ceil_div(units, across * held);
  };
  shape.deep = shape.in_16_bytes && across == kThreads && int64_t{table.rows} * pieces(true) >= kManyBlocks;
  shape.column_blocks = pieces(shape.deep);
  return shape;
}

template <typename Unit, bool kDeep, bool kEdges>
__global__ void __launch_bounds__(kThreads) copy_page_table_kernel(const Table table) {
  copy_rows_of<Unit, kDeep, kEdges>(table, blockIdx.y);
}

extern "C" int copy_page_table(const int* page_table, int* captured_page_table, int batch_size,
                               int max_seqlen_k, int64_t source_row_stride, int64_t destination_row_stride,
                               cudaStream_t stream) {
  const Table table{page_table,   captured_page_table, batch_size,
                    max_seqlen_k, source_row_stride,   destination_row_stride};
  if (is_refused(table)) return cudaErrorInvalidValue;
  if (batch_size == 0 || max_seqlen_k == 0) return cudaSuccess;
  const Shape shape = shape_of(table);
  const auto launch = [&](auto* kernel) {
    kernel<<<dim3(shape.column_blocks, shape.row_blocks), shape.block, 0, stream>>>(table);
    return cudaGetLastError();
  };
  if (!shape.in_16_bytes) return launch(copy_page_table_kernel<uint32_t, false, false>);
  if (shape.has_edges)
    return launch(shape.deep ? copy_page_table_kernel<uint4, true, true>
                             : copy_page_table_kernel<uint4, false, true>);
  return launch(shape.deep ? copy_page_table_kernel<uint4, true, false>
                           : copy_page_table_kernel<uint4, false, false>);
}

// ---- Step 7: the whole -----------------------------------------------------------------------------------

// Parameters come through the constant cache in lines of 64 bytes, and every block waits for each line that
// it reads: all that the page table needs comes first and fits in one line.
template <typename Unit, bool kDeep, bool kEdges>
__global__ void __launch_bounds__(kThreads)
    fused_copy_kernel(const Table table, const int vector_blocks, const __grid_constant__ Sources from,
                      const __grid_constant__ Destinations to) {
  // BEGIN SOLUTION  TODO 7: divide the blocks. The first `vector_blocks` along y take the vectors:
  // TODO: gridDim.x blocks for each, of blockDim.x * blockDim.y threads. The others take rows of the table.
  if (blockIdx.y < vector_blocks) {
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    copy_element(from, to, table.rows, block * blockDim.x * blockDim.y + thread);
    return;
  }
  copy_rows_of<Unit, kDeep, kEdges>(table, blockIdx.y - vector_blocks);
  // END SOLUTION
}

extern "C" int fused_copy_replay_data(const int* input_ids, const int* out_loc, const int* positions,
                                      const int* seq_lens, const int* cu_seqlens_k, const int* page_table,
                                      int* captured_input_ids, int* captured_out_loc, int* captured_positions,
                                      int* captured_seq_lens, int* captured_cu_seqlens_k,
                                      int* captured_page_table, int batch_size, int max_seqlen_k,
                                      int64_t source_row_stride, int64_t destination_row_stride,
                                      cudaStream_t stream) {
  const Sources from{input_ids, out_loc, positions, seq_lens, cu_seqlens_k};
  const Destinations to{captured_input_ids, captured_out_loc, captured_positions, captured_seq_lens,
                        captured_cu_seqlens_k};
  const Table table{page_table,   captured_page_table, batch_size,
                    max_seqlen_k, source_row_stride,   destination_row_stride};
  if (is_refused(table)) return cudaErrorInvalidValue;
  if (batch_size == 0) return cudaSuccess;
  const Shape shape = shape_of(table);
  const int column_blocks = std::max(shape.column_blocks, 1);
  // BEGIN SOLUTION  TODO 7: blocks for the vectors beside those for rows. With no columns, vectors alone.
  // STARTER: const int vector_blocks = 1;
  // STARTER: const int row_blocks = shape.row_blocks;
  const int vector_blocks = ceil_div(batch_size + 1, column_blocks * shape.block.x * shape.block.y);
  const int row_blocks = max_seqlen_k == 0 ? 0 : shape.row_blocks;
  // END SOLUTION
  const auto launch = [&](auto* kernel) {
    kernel<<<dim3(column_blocks, vector_blocks + row_blocks), shape.block, 0, stream>>>(table, vector_blocks,
                                                                                        from, to);
    return cudaGetLastError();
  };
  if (!shape.in_16_bytes) return launch(fused_copy_kernel<uint32_t, false, false>);
  if (shape.has_edges)
    return launch(shape.deep ? fused_copy_kernel<uint4, true, true> : fused_copy_kernel<uint4, false, true>);
  return launch(shape.deep ? fused_copy_kernel<uint4, true, false> : fused_copy_kernel<uint4, false, false>);
}
