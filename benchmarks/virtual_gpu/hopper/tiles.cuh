// Tiles of halves with rows of 128 bytes, swizzled: how threads fill one, and its descriptors.
#pragma once

#include <cuda_fp16.h>

#include "wgmma.cuh"

namespace hopper {

constexpr int kTileDepth = 64;  // halves of a row

// All threads of the block copy `rows` rows from device memory.
__device__ inline void fill_tile(__half* tile, const __half* from, int rows, int pitch) {
  for (int i = threadIdx.x; i < rows * kTileDepth; i += blockDim.x)
    tile[swizzled(i * 2, 128) / 2] = from[i / kTileDepth * pitch + i % kTileDepth];
}
// Of the 16 columns that step number `step` along k multiplies.
__device__ inline uint64_t tile_descriptor(const __half* tile, int step) {
  return descriptor(tile + step * 16, 16, 1024, 1);
}

}  // namespace hopper
