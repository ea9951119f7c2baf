// Strided, one element per thread: one launch, every thread takes one element of one copy and finds its row
// by division. Right for every batch, and as simple as a strided kernel gets. It has no wide units;
// contiguous data could move 16 bytes at once.
#include <cuda_runtime.h>

#include <cstdint>

#include "copy_batch.cuh"
#include "units.cuh"

constexpr int kThreads = 256;

struct StridedBatch {
  CopyDescriptor copies[kMostCopies];
  uint32_t first_tile[kMostCopies];  // of each copy; where there is none, a tile that no grid has
};

template <int kElementSize>
__device__ void copy_element(const CopyDescriptor& copy, int64_t row, int64_t column) {
  using Element = Unit<kElementSize>;
  static_cast<Element*>(copy.destination)[row * copy.destination_stride + column] =
      static_cast<const Element*>(copy.source)[row * copy.source_stride + column];
}

__global__ void __launch_bounds__(kThreads) copy_elements(const __grid_constant__ StridedBatch batch) {
  int number = 0;
#pragma unroll
  for (int i = 1; i < kMostCopies; ++i) number += blockIdx.x >= batch.first_tile[i];
  const CopyDescriptor copy = batch.copies[number];
  const int64_t tile = blockIdx.x - batch.first_tile[number];
  const int64_t element = tile * kThreads + threadIdx.x;
  if (element >= copy.rows * copy.columns) return;
  const int64_t row = element / copy.columns;
  const int64_t column = element - row * copy.columns;
  switch (copy.element_size) {
    case 8:
      copy_element<8>(copy, row, column);
      break;
    case 4:
      copy_element<4>(copy, row, column);
      break;
    case 2:
      copy_element<2>(copy, row, column);
      break;
    default:
      copy_element<1>(copy, row, column);
      break;
  }
}

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
  StridedBatch batch{};
  int64_t tiles = 0;
  for (int i = 0; i < kMostCopies; ++i) {
    batch.first_tile[i] = i < count ? static_cast<uint32_t>(tiles) : UINT32_MAX;
    if (i >= count) continue;
    batch.copies[i] = descriptors[i];
    tiles += (descriptors[i].rows * descriptors[i].columns + kThreads - 1) / kThreads;
  }
  if (tiles == 0) return cudaSuccess;
  if (tiles > INT32_MAX) return cudaErrorInvalidValue;
  copy_elements<<<static_cast<int>(tiles), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}
