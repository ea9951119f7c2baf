// Tiles of tensors in device memory, copied by the tensor memory accelerator (TMA, sm_90 and up): one thread
// asks, no thread waits, and rows beyond the tensor are zeros.
//
// A tile in shared memory has rows of 128 bytes, with a swizzle: 16-byte piece p of row r lies at place
// p ^ (r % 8) of its row. It begins at a multiple of 1,024 bytes. Wider rows are tiles side by side.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "mbarrier.cuh"

// Of a tile's row, which is 128 bytes of two-byte elements.
constexpr int kTileColumns = 64;

// How a tensor [batch][head][row][element] of two-byte elements lies in memory; strides in elements.
struct TensorShape {
  int batch, heads, rows, columns;
  int64_t batch_stride, head_stride, row_stride;
};

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                 const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);

// The driver's function, without linking to the driver; nullptr if it has none.
inline EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    const cudaError_t e =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    return e == cudaSuccess && result == cudaDriverEntryPointSuccess ? reinterpret_cast<EncodeTiled>(found)
                                                                     : nullptr;
  }();
  return function;
}

// A map of the tensor for tiles of `tile_rows` rows.
inline cudaError_t make_tensor_map(CUtensorMap& map, const void* tensor, const TensorShape& shape,
                                   int tile_rows, bool bfloat16) {
  const EncodeTiled encode = encode_tiled();
  if (encode == nullptr) return cudaErrorNotSupported;
  // Of one row, head or batch nobody takes the stride, and it may be 0, which no map may have.
  const auto bytes = [&](int64_t stride) {
    return static_cast<cuuint64_t>(2 * (stride > 0 ? stride : shape.columns));
  };
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(shape.columns), static_cast<cuuint64_t>(shape.rows),
                              static_cast<cuuint64_t>(shape.heads), static_cast<cuuint64_t>(shape.batch)};
  const cuuint64_t strides[] = {bytes(shape.row_stride), bytes(shape.head_stride), bytes(shape.batch_stride)};
  const cuuint32_t box[] = {kTileColumns, static_cast<cuuint32_t>(tile_rows), 1, 1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  const CUresult result = encode(
      &map, bfloat16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
      const_cast<void*>(tensor), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

// Where a tile begins: its first column and row, and whose it is.
struct TilePlace {
  int column, row, head, batch;
};

// Asks for a tile. Its bytes, those of zeros included, are counted by `barrier`, which must expect them.
__device__ inline void load_tile(void* to, const CUtensorMap& map, const TilePlace& from, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5}], "
      "[%6];" ::"r"(shared_address(to)),
      "l"(&map), "r"(from.column), "r"(from.row), "r"(from.head), "r"(from.batch),
      "r"(shared_address(&barrier.state))
      : "memory");
}

// Asks for a tile to be stored; rows beyond the tensor are left out. Who wrote the tile calls fence_async()
// first.
__device__ inline void store_tile(const CUtensorMap& map, const TilePlace& to, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
      "r"(to.column), "r"(to.row), "r"(to.head), "r"(to.batch), "r"(shared_address(from))
      : "memory");
}
__device__ inline void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until this thread's stores have read shared memory, or until they are complete.
__device__ inline void wait_until_stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// A kernel's first load of a map takes long: this begins it.
__device__ inline void prefetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
