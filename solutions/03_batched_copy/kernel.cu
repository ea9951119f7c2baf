// Batched copy: up to 16 strided copies in one launch.
//
// How memory flows: the host plans each copy and gives each a range of tiles. The plan is a kernel parameter,
// passed by value: there is no table in device memory to fill first, and a captured launch includes it. A row
// is cut into slots: where both sides are aligned alike, units of up to 16 bytes with single elements before
// and after them. A tile is a piece of a long row or several short rows, and a block copies one tile: a tiny
// copy takes one block and a huge one thousands, all at once. A thread stays in one row, so it computes its
// place once.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "copy_batch.cuh"
#include "units.cuh"

#ifndef BLOCK_THREADS
#define BLOCK_THREADS 128
#endif
constexpr int kThreads = BLOCK_THREADS;  // a power of two
// A good third of the threads that an H200 holds at once: up to that, each thread takes one slot.
constexpr int64_t kThinlySpread = 132 * 768;
// Beyond that: loads that a thread has in flight.
__host__ __device__ constexpr int slots_per_thread(int unit_bytes) {
  return unit_bytes == 16 ? 4 : 8;
}

// 64 bytes each: one line of the constant cache, which parameters come through.
struct alignas(64) PlannedCopy {
  const char* source;
  char* destination;
  int64_t source_stride, destination_stride;  // from row to row, in bytes
  int64_t row_slots;                          // elements before the units, units, elements after them
  int64_t row_units;
  uint32_t rows;
  uint32_t pieces;       // tiles that a row takes, or one for several rows
  uint8_t lanes_log2;    // threads that share a row
  uint8_t head;          // elements of a row before its first unit
  uint8_t unit_bytes;    // 16, 8, 4, 2 or 1
  uint8_t element_size;  // bytes
};

struct CopyBatch {
  uint32_t first_tile[kMostCopies];  // of each copy; where there is none, a tile that no grid has
  PlannedCopy copies[kMostCopies];
};

PlannedCopy plan(CopyDescriptor copy) {
  const int size = static_cast<int>(copy.element_size);
  PlannedCopy planned{};
  planned.element_size = size;
  planned.source = static_cast<const char*>(copy.source);
  planned.destination = static_cast<char*>(copy.destination);
  // BEGIN SOLUTION  TODO 1: plan one copy: strides, unit and slots.
  // TODO: The lines below plan slots of one element each, which is right for every copy. Begin with them.
  // TODO: Then: (a) rows that are dense on both sides are one long row;
  // TODO: (b) widest_unit_bytes() finds a unit that divides both starts, both strides and the row;
  // TODO: (c) if only the ends of the rows prevent a wide unit, copy them as single elements:
  // TODO: `head` of them, then `row_units` units, then the rest of the row.
  // STARTER: planned.source_stride = copy.source_stride * size;
  // STARTER: planned.destination_stride = copy.destination_stride * size;
  // STARTER: planned.unit_bytes = size;
  // STARTER: planned.row_units = planned.row_slots = copy.columns;
  if (is_dense(copy, copy.source_stride) && is_dense(copy, copy.destination_stride)) {
    copy.columns *= copy.rows;
    copy.rows = 1;
    copy.source_stride = copy.destination_stride = 0;  // no second row: no stride limits the unit
  }
  planned.source_stride = copy.source_stride * size;
  planned.destination_stride = copy.destination_stride * size;
  planned.unit_bytes = widest_unit_bytes(planned.source, planned.destination, planned.source_stride,
                                         planned.destination_stride, row_bytes(copy));
  // A smaller copy takes one round trip to memory with any unit, and edges would add a second.
  constexpr int64_t kEdgesPayFrom = 32 << 10;  // bytes
  if (planned.unit_bytes < 16 && copy.rows * row_bytes(copy) >= kEdgesPayFrom) {
    // If a unit divides the distance of the sides, both are aligned to it at the same elements of a row.
    const uint64_t source = address_bits(copy.source), destination = address_bits(copy.destination);
    planned.unit_bytes = widest_unit_bytes(static_cast<int64_t>(destination - source), planned.source_stride,
                                           planned.destination_stride);
    planned.head = static_cast<uint8_t>((-destination & (planned.unit_bytes - 1)) / size);
  }
  const int unit_elements = planned.unit_bytes / size;
  planned.row_units = (copy.columns - planned.head) / unit_elements;
  planned.row_slots = copy.columns - planned.row_units * (unit_elements - 1);
  // END SOLUTION
  planned.rows = static_cast<uint32_t>(copy.rows);
  return planned;
}

// Cuts a copy into tiles: `depth` slots for each thread. Returns how many there are.
int64_t cut(PlannedCopy& copy, int depth) {
  if (copy.rows == 0 || copy.row_slots == 0) return 0;
  // BEGIN SOLUTION  TODO 2: how many threads share a row, and how many tiles does a row take?
  // TODO: A short row takes as many threads as it has slots, rounded up to a power of two, and the block's
  // TODO: other threads take further rows. A long row takes the whole block, and several tiles.
  // STARTER: while ((1 << copy.lanes_log2) < kThreads) ++copy.lanes_log2;
  while ((1 << copy.lanes_log2) < std::min<int64_t>(kThreads, copy.row_slots)) ++copy.lanes_log2;
  // END SOLUTION
  const int64_t row_piece = int64_t{depth} << copy.lanes_log2;
  const int64_t pieces = (copy.row_slots + row_piece - 1) / row_piece;
  const int64_t rows_of_a_tile = kThreads >> copy.lanes_log2;
  copy.pieces = static_cast<uint32_t>(pieces);
  return pieces <= INT32_MAX ? (copy.rows + rows_of_a_tile - 1) / rows_of_a_tile * pieces : pieces;
}

// Gives each copy its tiles, in order. Returns how many there are.
int64_t deal(CopyBatch& batch, int count, bool deep) {
  int64_t tiles = 0;
  // BEGIN SOLUTION  TODO 3: fill first_tile[] and count the tiles that cut() makes of each copy.
  // TODO: Fill every entry, those after the last copy too: UINT32_MAX is a tile that no grid has.
  for (int i = 0; i < kMostCopies; ++i) {
    batch.first_tile[i] = i < count ? static_cast<uint32_t>(tiles) : UINT32_MAX;
    if (i < count) tiles += cut(batch.copies[i], deep ? slots_per_thread(batch.copies[i].unit_bytes) : 1);
  }
  // END SOLUTION
  return tiles;
}

// The copy that a tile belongs to.
__device__ int copy_of(const CopyBatch& batch, uint32_t tile) {
  int found = 0;
  // BEGIN SOLUTION  TODO 4: find the last copy whose first tile is not after this one.
  // TODO: Sixteen comparisons that do not wait for each other are faster than a search.
#pragma unroll
  for (int i = 1; i < kMostCopies; ++i) found += tile >= batch.first_tile[i];
  // END SOLUTION
  return found;
}

// One row as one thread sees it: its slots are `step` apart, from `slot` on.
struct Row {
  const char* from;
  char* to;
  int64_t slot;
  int step;
};

// A thread's units, all loaded before the first is stored.
template <int kUnitBytes, int kSlots>
__device__ void copy_units(const PlannedCopy& copy, const Row& row) {
  using Unit = Unit<kUnitBytes>;
  // BEGIN SOLUTION  TODO 5: copy those of the thread's kSlots slots that are units.
  // TODO: Units begin after `head` elements. Load them all before you store the first.
  Unit units[kSlots];
  const int64_t head_bytes = copy.head * copy.element_size;
  const auto* from = reinterpret_cast<const Unit*>(row.from + head_bytes);
  auto* to = reinterpret_cast<Unit*>(row.to + head_bytes);
  const int64_t first = row.slot - copy.head;
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const int64_t unit = first + i * row.step;
    if (unit >= 0 && unit < copy.row_units) units[i] = from[unit];
  }
#pragma unroll
  for (int i = 0; i < kSlots; ++i) {
    const int64_t unit = first + i * row.step;
    if (unit >= 0 && unit < copy.row_units) to[unit] = units[i];
  }
  // END SOLUTION
}

// And its elements: the slots before and after the units of a row.
template <int kSlots>
__device__ void copy_edges(const PlannedCopy& copy, const Row& row) {
  // BEGIN SOLUTION  TODO 6: copy the slots that are single elements, byte by byte or in one piece.
  for (int i = 0; i < kSlots; ++i) {
    const int64_t slot = row.slot + i * row.step;
    const int64_t behind = slot - copy.head - copy.row_units;  // elements since the last unit
    if (slot >= copy.row_slots || (slot >= copy.head && behind < 0)) continue;
    const int64_t skipped = behind < 0 ? 0 : copy.row_units * (copy.unit_bytes - copy.element_size);
    const int64_t offset = slot * copy.element_size + skipped;
    char* to = row.to + offset;
    const char* from = row.from + offset;
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
  // END SOLUTION
}

template <int kUnitBytes, bool kDeep>
__device__ void copy_slots(const PlannedCopy& copy, Row row, uint32_t piece) {
  constexpr int kSlots = kDeep ? slots_per_thread(kUnitBytes) : 1;
  row.slot += int64_t{piece} * kSlots * row.step;
  copy_units<kUnitBytes, kSlots>(copy, row);
  if (copy.row_slots != copy.row_units) copy_edges<kSlots>(copy, row);
}

template <bool kDeep>
__global__ void __launch_bounds__(kThreads) copy_tiles(const __grid_constant__ CopyBatch batch) {
  const int number = copy_of(batch, blockIdx.x);
  const PlannedCopy& copy = batch.copies[number];
  const uint32_t tile = blockIdx.x - batch.first_tile[number];
  const uint32_t group = copy.pieces == 1 ? tile : tile / copy.pieces;
  const uint32_t piece = tile - group * copy.pieces;
  const int lanes = 1 << copy.lanes_log2;
  const int64_t number_of_row =
      int64_t{group} * (kThreads >> copy.lanes_log2) + (threadIdx.x >> copy.lanes_log2);
  if (number_of_row >= copy.rows) return;
  // BEGIN SOLUTION  TODO 7: where does this thread's row begin on either side?
  // TODO: A row begins one stride, in bytes, after the row before: offsets need 64 bits.
  // STARTER: const Row row{copy.source, copy.destination, threadIdx.x & (lanes - 1), lanes};
  const Row row{copy.source + number_of_row * copy.source_stride,
                copy.destination + number_of_row * copy.destination_stride, threadIdx.x & (lanes - 1), lanes};
  // END SOLUTION
  switch (copy.unit_bytes) {  // the same for the whole block
    case 16:
      copy_slots<16, kDeep>(copy, row, piece);
      break;
    case 8:
      copy_slots<8, kDeep>(copy, row, piece);
      break;
    case 4:
      copy_slots<4, kDeep>(copy, row, piece);
      break;
    case 2:
      copy_slots<2, kDeep>(copy, row, piece);
      break;
    default:
      copy_slots<1, kDeep>(copy, row, piece);
      break;
  }
}

extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
  CopyBatch batch{};
  int64_t slots = 0;
  for (int i = 0; i < count; ++i) {
    batch.copies[i] = plan(descriptors[i]);
    slots += batch.copies[i].rows * batch.copies[i].row_slots;
    if (descriptors[i].rows > UINT32_MAX) return cudaErrorInvalidValue;
  }
  const bool deep = slots > kThinlySpread;
  const int64_t tiles = deal(batch, count, deep);
  if (tiles == 0) return cudaSuccess;
  if (tiles > INT32_MAX) return cudaErrorInvalidValue;  // the most blocks of a grid; at least 1 TB
  const auto kernel = deep ? copy_tiles<true> : copy_tiles<false>;
  kernel<<<static_cast<int>(tiles), kThreads, 0, stream>>>(batch);
  return cudaGetLastError();
}
