// Copies and fills: one row, many rows, many slices, whichever way the API spells them.
#pragma once

#include <driver_types.h>

#include <cstdint>

namespace vgpu {

enum class Timing { kSync, kAsync };

// `height` rows of `width` bytes.
struct CopyPlan {
  void* dst;
  const void* src;
  size_t width;
  size_t height = 1, dst_pitch = 0, src_pitch = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  uint64_t stream = 0;
  Timing timing = Timing::kSync;
};

cudaError_t copy(const CopyPlan& given);
cudaError_t copy_3d(const cudaMemcpy3DParms* parameters, uint64_t stream, Timing timing);

// `height` rows of `width` bytes, each set to the low byte of `value`.
cudaError_t fill(void* dst, size_t pitch, int value, size_t width, size_t height, uint64_t stream);
cudaError_t fill_3d(const cudaPitchedPtr& dst, int value, const cudaExtent& extent, uint64_t stream);

}  // namespace vgpu
