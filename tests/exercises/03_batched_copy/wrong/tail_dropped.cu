// expect: correct mismatch: the end of each row is missing, past the last multiple of 4 elements
// Units that divide starts and strides, but not the row: what is left behind the last of them is nobody's.
#include <cuda_runtime.h>

#include <cstdint>

#include "copy_batch.cuh"
#include "units.cuh"

constexpr int kThreads = 256;
// So many threads fit on an H200 at once: what is no more than that is spread thinly, a slot for each thread.
constexpr int64_t kOneWave = 132 * 2048;
constexpr int kSlotsPerThread = 4;  // beyond that: as many loads are on their way at once

struct PlannedCopy {
  const char* source;
  char* destination;
  int64_t source_stride, destination_stride;  // from row to row, in bytes
  int64_t slots;                              // of all rows
  int64_t row_slots;  // of one: elements before the units, units, elements behind them
  int64_t row_units;
  int head;          // elements of a row before its first unit
  int unit_bytes;    // 16, 8, 4, 2 or 1
  int element_size;  // bytes
};

struct CopyBatch {
  PlannedCopy copies[kMostCopies];
  uint32_t first_tile[kMostCopies];  // of each copy; where there is none, a tile that no grid has
};

PlannedCopy plan(CopyDescriptor copy) {
  const int size = static_cast<int>(copy.element_size);
  PlannedCopy planned{};
  planned.element_size = size;
  planned.source = static_cast<const char*>(copy.source);
  planned.destination = static_cast<char*>(copy.destination);
  if (is_dense(copy, copy.source_stride) && is_dense(copy, copy.destination_stride)) {
    copy.columns *= copy.rows;
    copy.rows = 1;
    copy.source_stride = copy.destination_stride = 0;  // no second row: no stride is in the way of a unit
  }
  planned.source_stride = copy.source_stride * size;
  planned.destination_stride = copy.destination_stride * size;
  planned.unit_bytes = widest_unit_bytes(planned.source, planned.destination, planned.source_stride,
                                         planned.destination_stride);
  // A smaller copy is over in one trip to memory whatever its units, and edges would add a second trip.
  constexpr int64_t kEdgesPayFrom = 32 << 10;  // bytes
  if (planned.unit_bytes < 16 && copy.rows * row_bytes(copy) >= kEdgesPayFrom) {
    // Sides whose distance a unit divides are aligned to it at the same elements of a row.
    const uint64_t source = address_bits(copy.source), destination = address_bits(copy.destination);
    planned.unit_bytes = widest_unit_bytes(static_cast<int64_t>(destination - source), planned.source_stride,
                                           planned.destination_stride);
    planned.head = static_cast<int>((-destination & (planned.unit_bytes - 1)) / size);
  }
  const int unit_elements = planned.unit_bytes / size;
  planned.row_units = (copy.columns - planned.head) / unit_elements;
  planned.row_slots = planned.head + planned.row_units;
  planned.slots = copy.rows * planned.row_slots;
  return planned;
}

// Deals tiles of `tile_slots` slots to the copies, in their order. Returns how many there are.
int64_t deal(CopyBatch& batch, int count, int tile_slots) {
  int64_t tiles = 0;
  for (int i = 0; i < kMostCopies; ++i) {
    batch.first_tile[i] = i < count ? static_cast<uint32_t>(tiles) : UINT32_MAX;
    if (i < count) tiles += (batch.copies[i].slots + tile_slots - 1) / tile_slots;
  }
  return tiles;
}

// The copy that a tile belongs to.
__device__ int copy_of(const CopyBatch& batch, uint32_t tile) {
  int found = 0;
#pragma unroll
  for (int i = 1; i < kMostCopies; ++i) found += tile >= batch.first_tile[i];
  return found;
}

// A division of 64 bits takes a hundred instructions and more: only where it must.
__device__ int64_t row_of(const PlannedCopy& copy, int64_t slot) {
  if (copy.slots == copy.row_slots) return 0;
  if (copy.slots > UINT32_MAX) return slot / copy.row_slots;
  return static_cast<uint32_t>(slot) / static_cast<uint32_t>(copy.row_slots);
}

// A thread's slots are kThreads apart: its units, all loaded before the first is stored.
template <int kUnitBytes, int kSlots>
__device__ void copy_units(const PlannedCopy& copy, int64_t first_slot) {
  using Unit = Unit<kUnitBytes>;
  Unit units[kSlots];
  Unit* to[kSlots];
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    to[i] = nullptr;
    const int64_t slot = first_slot + i * kThreads;
    const int64_t row = row_of(copy, slot);
    const int64_t unit = slot - row * copy.row_slots - copy.head;
    if (slot < copy.slots && unit >= 0 && unit < copy.row_units) {
      const int64_t offset = copy.head * copy.element_size + unit * kUnitBytes;
      to[i] = reinterpret_cast<Unit*>(copy.destination + row * copy.destination_stride + offset);
      units[i] = *reinterpret_cast<const Unit*>(copy.source + row * copy.source_stride + offset);
    }
  }
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    if (to[i] != nullptr) *to[i] = units[i];
  }
}

// And its elements: the slots before and behind the units of a row.
template <int kSlots>
__device__ void copy_edges(const PlannedCopy& copy, int64_t first_slot) {
  for (int i = 0; i < kSlots; ++i) {
    const int64_t slot = first_slot + i * kThreads;
    const int64_t row = row_of(copy, slot);
    const int64_t in_row = slot - row * copy.row_slots;
    const int64_t behind = in_row - copy.head - copy.row_units;  // elements since the last unit
    if (slot >= copy.slots || (in_row >= copy.head && behind < 0)) continue;
    const int64_t skipped = behind < 0 ? 0 : copy.row_units * (copy.unit_bytes - copy.element_size);
    const int64_t offset = in_row * copy.element_size + skipped;
    char* to = copy.destination + row * copy.destination_stride + offset;
    const char* from = copy.source + row * copy.source_stride + offset;
    switch (copy.element_size) {
      case 8:
        *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(from);
        break;
      case 4:
        *reinterpret_cast<uint32_t*>(to) = *reinterpret_cast<const uint32_t*>(from);
        break;
      case 2:
        *reinterpret_cast<uint16_t*>(to) = *reinterpret_cast<const uint16_t*>(from);
        break;
      default:
        *to = *from;
        break;
    }
  }
}

template <int kSlots>
__global__ void __launch_bounds__(kThreads) copy_tiles(const __grid_constant__ CopyBatch batch) {
  const int number = copy_of(batch, blockIdx.x);
  const PlannedCopy copy = batch.copies[number];
  const int64_t tile = blockIdx.x - batch.first_tile[number];
  const int64_t first_slot = tile * (kThreads * kSlots) + threadIdx.x;
  switch (copy.unit_bytes) {  // the same for the whole block
    case 16:
      copy_units<16, kSlots>(copy, first_slot);
      break;
    case 8:
      copy_units<8, kSlots>(copy, first_slot);
      break;
    case 4:
      copy_units<4, kSlots>(copy, first_slot);
      break;
    case 2:
      copy_units<2, kSlots>(copy, first_slot);
      break;
    default:
      copy_units<1, kSlots>(copy, first_slot);
      break;
  }
  if (copy.row_slots != copy.row_units) copy_edges<kSlots>(copy, first_slot);
}

template <int kSlots>
int launch(CopyBatch& batch, int count, cudaStream_t stream) {
  const int64_t tiles = deal(batch, count, kThreads * kSlots);
  if (tiles == 0) return cudaSuccess;
  if (tiles > INT32_MAX) return cudaErrorInvalidValue;  // a grid has no more blocks; 2 TB at the least
  copy_tiles<kSlots><<<static_cast<int>(tiles), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
  CopyBatch batch{};
  int64_t slots = 0;
  for (int i = 0; i < count; ++i) {
    batch.copies[i] = plan(descriptors[i]);
    slots += batch.copies[i].slots;
  }
  return slots <= kOneWave ? launch<1>(batch, count, stream) : launch<kSlotsPerThread>(batch, count, stream);
}
