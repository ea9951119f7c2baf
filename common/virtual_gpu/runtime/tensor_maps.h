// Tensor maps, behind the driver API.
#pragma once

#include <cstdint>

namespace vgpu {

// What both kinds of tensor maps are made from. Enumerations are as in cuda.h.
struct TensorArguments {
  int type;
  uint32_t rank;
  void* base;
  const uint64_t *sizes, *strides;
  const uint32_t* element_strides;
  int interleave, swizzle, l2_promotion, fill;
};

// cuTensorMapEncodeTiled; the result is a CUresult.
int encode_tiled(void* map, const TensorArguments& tensor, const uint32_t* box);

// cuTensorMapEncodeIm2col. The corners are offsets from those of the tensor, W first.
int encode_im2col(void* map, const TensorArguments& tensor, const int* lower, const int* upper,
                  uint32_t channels, uint32_t pixels);

}  // namespace vgpu
