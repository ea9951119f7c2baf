// Contiguous only: a batch of flat memory copies in one launch, the simplest kernel that could work.
//
// It has no rows. A strided copy becomes one flat copy per row, and every sixteen copies take another
// launch: the cost of "the tensors are mostly contiguous" when one of them is not.
#include <cuda_runtime.h>

#include <cstdint>

#include "copy_batch.cuh"
#include "units.cuh"

constexpr int kThreads = 256;
constexpr int64_t kOneWave = 132 * 2048;  // threads that fit on an H200 at once
constexpr int kUnitsPerThread = 4;        // if there is more work than that

struct FlatCopy {
  const char* source;
  char* destination;
  int64_t units;
  int unit_bytes;
};

struct FlatBatch {
  FlatCopy copies[kMostCopies];
  uint32_t first_tile[kMostCopies];  // of each copy; where there is none, a tile that no grid has
  int count;
};

template <int kUnitBytes, int kUnits>
__device__ void copy_units(const FlatCopy& copy, int64_t first) {
  const auto* from = reinterpret_cast<const Unit<kUnitBytes>*>(copy.source);
  auto* to = reinterpret_cast<Unit<kUnitBytes>*>(copy.destination);
  Unit<kUnitBytes> units[kUnits];
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    if (first + i * kThreads < copy.units) units[i] = from[first + i * kThreads];
  }
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    if (first + i * kThreads < copy.units) to[first + i * kThreads] = units[i];
  }
}

template <int kUnits>
__global__ void __launch_bounds__(kThreads) copy_flat(const __grid_constant__ FlatBatch batch) {
  int number = 0;
#pragma unroll
  for (int i = 1; i < kMostCopies; ++i) number += blockIdx.x >= batch.first_tile[i];
  const FlatCopy copy = batch.copies[number];
  const int64_t tile = blockIdx.x - batch.first_tile[number];
  const int64_t first = tile * (kThreads * kUnits) + threadIdx.x;
  switch (copy.unit_bytes) {
    case 16:
      copy_units<16, kUnits>(copy, first);
      break;
    case 8:
      copy_units<8, kUnits>(copy, first);
      break;
    case 4:
      copy_units<4, kUnits>(copy, first);
      break;
    case 2:
      copy_units<2, kUnits>(copy, first);
      break;
    default:
      copy_units<1, kUnits>(copy, first);
      break;
  }
}

template <int kUnits>
cudaError_t launch_as(FlatBatch& batch, cudaStream_t stream) {
  int64_t tiles = 0;
  for (int i = 0; i < kMostCopies; ++i) {
    batch.first_tile[i] = i < batch.count ? static_cast<uint32_t>(tiles) : UINT32_MAX;
    if (i < batch.count) tiles += (batch.copies[i].units + kThreads * kUnits - 1) / (kThreads * kUnits);
  }
  if (tiles > INT32_MAX) return cudaErrorInvalidValue;
  copy_flat<kUnits><<<static_cast<int>(tiles), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

cudaError_t launch(FlatBatch& batch, cudaStream_t stream) {
  if (batch.count == 0) return cudaSuccess;
  int64_t units = 0;
  for (int i = 0; i < batch.count; ++i) units += batch.copies[i].units;
  const cudaError_t error =
      units <= kOneWave ? launch_as<1>(batch, stream) : launch_as<kUnitsPerThread>(batch, stream);
  batch.count = 0;
  return error;
}

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
  FlatBatch batch{};
  for (int i = 0; i < count; ++i) {
    const CopyDescriptor& copy = descriptors[i];
    if (is_empty(copy)) continue;
    const bool flat = is_dense(copy, copy.source_stride) && is_dense(copy, copy.destination_stride);
    const int64_t pieces = flat ? 1 : copy.rows;
    const int64_t bytes = flat ? copy.rows * row_bytes(copy) : row_bytes(copy);
    for (int64_t row = 0; row < pieces; ++row) {
      const char* from = static_cast<const char*>(copy.source) + row * copy.source_stride * copy.element_size;
      char* to = static_cast<char*>(copy.destination) + row * copy.destination_stride * copy.element_size;
      const int unit_bytes = widest_unit_bytes(from, to, bytes);
      batch.copies[batch.count++] = {from, to, bytes / unit_bytes, unit_bytes};
      if (batch.count < kMostCopies) continue;
      if (const cudaError_t error = launch(batch, stream)) return error;
    }
  }
  return launch(batch, stream);
}
