// Tensor maps, behind the driver API.
#pragma once

#include <cstdint>

namespace vgpu {

// cuTensorMapEncodeTiled; the result is a CUresult.
int encode_tiled(void* map, int type, uint32_t rank, void* base, const uint64_t* sizes,
                 const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                 int interleave, int swizzle, int l2_promotion, int fill);

}  // namespace vgpu
