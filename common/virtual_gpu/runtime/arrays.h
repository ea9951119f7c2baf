// CUDA arrays: rows of elements in device memory, one after another. Handles point to their descriptions.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>

struct cudaArray {
  uint64_t address;
  cudaChannelFormatDesc format;
  cudaExtent extent;  // as the program gave it: 0 where there is no such dimension
  unsigned flags;
};

namespace vgpu {

size_t element_bytes(const cudaChannelFormatDesc& format);
size_t rows_of(const cudaArray& array);
size_t slices_of(const cudaArray& array);  // or layers
size_t pitch_of(const cudaArray& array);

// The same copy with its arrays as pitched memory: positions and widths count bytes.
cudaError_t without_arrays(cudaMemcpy3DParms* parameters);

}  // namespace vgpu
