// The driver's functions that make tensor maps.
#include "driver/driver.h"
#include "tensor_maps.h"

VGPU_API CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                         void* base, const cuuint64_t* sizes, const cuuint64_t* strides,
                                         const cuuint32_t* box, const cuuint32_t* element_strides,
                                         CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                         CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  const vgpu::TensorArguments tensor{type,       rank,    base,         sizes, strides, element_strides,
                                     interleave, swizzle, l2_promotion, fill};
  return static_cast<CUresult>(vgpu::encode_tiled(map, tensor, box));
}

VGPU_API CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                          void* base, const cuuint64_t* sizes, const cuuint64_t* strides,
                                          const int* lower, const int* upper, cuuint32_t channels,
                                          cuuint32_t pixels, const cuuint32_t* element_strides,
                                          CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                          CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  const vgpu::TensorArguments tensor{type,       rank,    base,         sizes, strides, element_strides,
                                     interleave, swizzle, l2_promotion, fill};
  return static_cast<CUresult>(vgpu::encode_im2col(map, tensor, lower, upper, channels, pixels));
}
