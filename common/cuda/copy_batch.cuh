// What a batch of strided copies looks like to its caller, and which batches are refused.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

// `rows` rows of `columns` elements, from one place in device memory to another. Within a row elements are
// dense; from row to row they are a stride apart, counted in elements. Every field has 8 bytes, so that a
// table of these needs no padding in any language.
struct CopyDescriptor {
  const void* source;
  void* destination;
  int64_t rows;
  int64_t columns;
  int64_t source_stride;
  int64_t destination_stride;
  int64_t element_size;  // 1, 2, 4 or 8 bytes
};

constexpr int kMostCopies = 16;  // of a batch: with its plan, all of them fit into a kernel's parameters

inline bool is_empty(const CopyDescriptor& copy) {
  return copy.rows == 0 || copy.columns == 0;
}

inline int64_t row_bytes(const CopyDescriptor& copy) {
  return copy.columns * copy.element_size;
}

// Whether a side's rows follow one another without a gap.
inline bool is_dense(const CopyDescriptor& copy, int64_t stride) {
  return copy.rows == 1 || stride == copy.columns;
}

// The bytes of one side of a copy: `rows` pieces of `row` bytes, `stride` bytes apart.
struct StridedBytes {
  uint64_t begin;
  int64_t rows, row, stride;

  uint64_t end() const { return begin + (rows - 1) * stride + row; }
};

inline StridedBytes strided_bytes(const CopyDescriptor& copy, const void* start, int64_t stride) {
  const auto begin = reinterpret_cast<uintptr_t>(start);
  if (is_dense(copy, stride)) return {begin, 1, copy.rows * row_bytes(copy), 0};
  if (stride == 0) return {begin, 1, row_bytes(copy), 0};  // one row, read again and again
  return {begin, copy.rows, row_bytes(copy), stride * copy.element_size};
}

inline StridedBytes source_bytes(const CopyDescriptor& copy) {
  return strided_bytes(copy, copy.source, copy.source_stride);
}

inline StridedBytes destination_bytes(const CopyDescriptor& copy) {
  return strided_bytes(copy, copy.destination, copy.destination_stride);
}

// Whether any byte belongs to both: slices of one table, side by side, share their span and nothing else.
inline bool share_a_byte(StridedBytes a, StridedBytes b) {
  if (a.end() <= b.begin || b.end() <= a.begin) return false;
  if (a.rows > b.rows) std::swap(a, b);
  for (int64_t row = 0; row < a.rows; ++row) {
    const auto from_b = static_cast<int64_t>(a.begin - b.begin) + row * a.stride;  // where this row begins
    // The first row of b that ends behind it.
    const int64_t next = from_b < b.row ? 0 : b.rows == 1 ? 1 : (from_b - b.row) / b.stride + 1;
    if (next < b.rows && next * b.stride < from_b + a.row) return true;
  }
  return false;
}

inline bool is_well_formed(const CopyDescriptor& copy) {
  const int64_t size = copy.element_size;
  if (size != 1 && size != 2 && size != 4 && size != 8) return false;
  if (copy.rows < 0 || copy.columns < 0 || copy.source_stride < 0) return false;
  if (is_empty(copy)) return true;
  if (copy.rows > 1 && copy.destination_stride < copy.columns) return false;  // rows written over each other
  const uintptr_t places =
      reinterpret_cast<uintptr_t>(copy.source) | reinterpret_cast<uintptr_t>(copy.destination);
  return copy.source != nullptr && copy.destination != nullptr && places % size == 0;
}

// cudaErrorInvalidValue for a batch that has no single right answer, or that no kernel here can take:
// more than kMostCopies, sizes that make no sense, or a destination that some other copy reads or writes.
// All copies of a batch run at once, so no order among them could make such a batch right.
inline cudaError_t check_copies(const CopyDescriptor* copies, int count) {
  if (count < 0 || count > kMostCopies || (count > 0 && copies == nullptr)) return cudaErrorInvalidValue;
  for (int i = 0; i < count; ++i) {
    if (!is_well_formed(copies[i])) return cudaErrorInvalidValue;
  }
  for (int i = 0; i < count; ++i) {
    if (is_empty(copies[i])) continue;
    const StridedBytes written = destination_bytes(copies[i]);
    for (int j = 0; j < count; ++j) {
      if (is_empty(copies[j])) continue;
      if (share_a_byte(written, source_bytes(copies[j]))) return cudaErrorInvalidValue;
      if (j < i && share_a_byte(written, destination_bytes(copies[j]))) return cudaErrorInvalidValue;
    }
  }
  return cudaSuccess;
}
