// Design choice 2, option B: pointers and sizes in an array of copies, without names for the fields.
//
// A vector is a table of one row. Each copy gets one block per piece of kPiece elements, and a prefix table
// has the first block of each copy; a block finds its copy with a short search. A seventh field is one more
// line in the launcher. The cost: the search, and a division for the block's row.
#include <cuda_runtime.h>

#include <cstdint>

#include "units.cuh"

constexpr int kThreads = 256;
constexpr int kDepth = 4;                      // units of a thread in flight
constexpr int kPiece = kThreads * kDepth * 4;  // elements of a block, in units of 16 bytes
constexpr int kCopies = 6;

struct Copy {
  const int* from;
  int* to;
  int rows, columns;
  int64_t from_stride, to_stride;
  int pieces;  // of each row
  bool in_16_bytes;
};

struct Copies {
  Copy copy[kCopies];
  int begin[kCopies + 1];  // the first block of each
};

template <typename Unit>
__device__ void copy_piece(const int* from, int* to, int count) {
  constexpr int kElements = sizeof(Unit) / sizeof(int);
  constexpr int kHeld = kDepth * 4 / kElements;
  const auto* unit_from = reinterpret_cast<const Unit*>(from);
  auto* unit_to = reinterpret_cast<Unit*>(to);
  Unit held[kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int unit = i * kThreads + threadIdx.x;
    if (unit < count / kElements) held[i] = unit_from[unit];
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const int unit = i * kThreads + threadIdx.x;
    if (unit < count / kElements) unit_to[unit] = held[i];
  }
}

__global__ void __launch_bounds__(kThreads) fused_copy_kernel(const __grid_constant__ Copies copies) {
  int number = 0;
  while (blockIdx.x >= copies.begin[number + 1]) ++number;
  const Copy& copy = copies.copy[number];
  const int block = blockIdx.x - copies.begin[number];
  const int64_t row = block / copy.pieces;
  const int column = block % copy.pieces * kPiece;
  const int* from = copy.from + row * copy.from_stride + column;
  int* to = copy.to + row * copy.to_stride + column;
  const int count = min(kPiece, copy.columns - column);
  if (copy.in_16_bytes) {
    copy_piece<uint4>(from, to, count);
  } else {
    copy_piece<uint32_t>(from, to, count);
  }
}

Copy describe(const int* from, int* to, int rows, int columns, int64_t from_stride, int64_t to_stride) {
  Copy copy{from, to, rows, columns, from_stride, to_stride, ceil_div(columns, kPiece), false};
  copy.in_16_bytes = widest_unit_bytes(from, to, from_stride * 4, to_stride * 4, int64_t{columns} * 4) == 16;
  return copy;
}

Copy describe_vector(const int* from, int* to, int count) {
  return describe(from, to, 1, count, 0, 0);
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
  Copies copies{{
      describe_vector(input_ids, captured_input_ids, batch_size),
      describe_vector(out_loc, captured_out_loc, batch_size),
      describe_vector(positions, captured_positions, batch_size),
      describe_vector(seq_lens, captured_seq_lens, batch_size),
      describe_vector(cu_seqlens_k, captured_cu_seqlens_k, batch_size + 1),
      describe(page_table, captured_page_table, batch_size, max_seqlen_k, source_row_stride,
               destination_row_stride),
  }};
  for (int i = 0; i < kCopies; ++i) {
    copies.begin[i + 1] = copies.begin[i] + copies.copy[i].rows * copies.copy[i].pieces;
  }
  fused_copy_kernel<<<copies.begin[kCopies], kThreads, 0, stream>>>(copies);
  return cudaGetLastError();
}
