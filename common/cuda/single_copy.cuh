// One strided copy by one plain launch.
//
// Rows that are dense on both sides count as one, units are the widest that both starts, both strides and the
// row allow, and consecutive threads take consecutive units.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "copy_batch.cuh"
#include "units.cuh"

constexpr int kCopyThreads = 256;
constexpr int64_t kMostRowBlocks = 65535;  // of a grid's second dimension; further rows take another turn

struct StridedCopy {
  const char* source;
  char* destination;
  int64_t source_stride, destination_stride;  // from row to row, in bytes
  int64_t rows, row_units;
};

template <int kUnitBytes>
__global__ void __launch_bounds__(kCopyThreads) copy_rows(StridedCopy p) {
  const int64_t unit = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (unit >= p.row_units) return;
  for (int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; row < p.rows;
       row += int64_t{gridDim.y} * blockDim.y) {
    const auto* from = reinterpret_cast<const Unit<kUnitBytes>*>(p.source + row * p.source_stride);
    auto* to = reinterpret_cast<Unit<kUnitBytes>*>(p.destination + row * p.destination_stride);
    to[unit] = from[unit];
  }
}

template <int kUnitBytes>
void launch_copy(StridedCopy p, int64_t row_bytes, cudaStream_t stream) {
  p.row_units = row_bytes / kUnitBytes;
  // As many threads as a row needs; what is left of the block takes further rows.
  const int across = static_cast<int>(std::min<int64_t>(kCopyThreads, p.row_units));
  const dim3 block(across, kCopyThreads / across);
  const int64_t row_blocks = (p.rows + block.y - 1) / block.y;
  const dim3 grid(static_cast<unsigned>((p.row_units + across - 1) / across),
                  static_cast<unsigned>(std::min(row_blocks, kMostRowBlocks)));
  copy_rows<kUnitBytes><<<grid, block, 0, stream>>>(p);
}

inline cudaError_t copy_one(CopyDescriptor copy, cudaStream_t stream) {
  if (is_dense(copy, copy.source_stride) && is_dense(copy, copy.destination_stride)) {
    copy.columns *= copy.rows;
    copy.rows = 1;
    copy.source_stride = copy.destination_stride = 0;
  }
  const int64_t bytes = row_bytes(copy);
  const StridedCopy p{static_cast<const char*>(copy.source),
                      static_cast<char*>(copy.destination),
                      copy.source_stride * copy.element_size,
                      copy.destination_stride * copy.element_size,
                      copy.rows,
                      0};
  switch (widest_unit_bytes(p.source, p.destination, p.source_stride, p.destination_stride, bytes)) {
    case 16:
      launch_copy<16>(p, bytes, stream);
      break;
    case 8:
      launch_copy<8>(p, bytes, stream);
      break;
    case 4:
      launch_copy<4>(p, bytes, stream);
      break;
    case 2:
      launch_copy<2>(p, bytes, stream);
      break;
    default:
      launch_copy<1>(p, bytes, stream);
      break;
  }
  return cudaGetLastError();
}
