// The driver's functions that make tensor maps.
#include "driver/driver.h"
#include "tensor_maps.h"

VGPU_API CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                         void* base, const cuuint64_t* sizes, const cuuint64_t* strides,
                                         const cuuint32_t* box, const cuuint32_t* element_strides,
                                         CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                         CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
  return static_cast<CUresult>(vgpu::encode_tiled(map, type, rank, base, sizes, strides, box, element_strides,
                                                  interleave, swizzle, l2_promotion, fill));
}
