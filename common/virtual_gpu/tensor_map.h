// The 128 bytes of a CUtensorMap as the virtual GPU fills and reads them. NVIDIA does not document its own
// layout; programs only pass the map on.
#pragma once

#include <cstdint>

namespace vgpu {

constexpr uint32_t kTensorMapMagic = 0x70616d74;  // "tmap"
constexpr int kMostTensorDimensions = 5;

struct alignas(64) TensorMap {
  uint32_t magic;
  uint8_t type;  // CUtensorMapDataType
  uint8_t rank;
  uint8_t interleave, swizzle, fill;  // as in cuda.h
  uint8_t element_bytes;
  uint8_t element_stride[kMostTensorDimensions];
  uint8_t unused[1];
  uint64_t base;
  uint32_t size_minus_1[kMostTensorDimensions];  // elements
  uint16_t box[kMostTensorDimensions];           // elements
  uint16_t padding;
  uint64_t stride[kMostTensorDimensions - 1];  // bytes, of dimensions 1 to 4
};
static_assert(sizeof(TensorMap) == 128);

enum TensorSwizzle : uint8_t { kSwizzleNone = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3 };

// Where the 16 bytes at a shared address lie when they are swizzled: bits 4 to 6 of the address are combined
// with bits 7 to 9, as far as the mode goes.
inline uint32_t swizzled_address(uint32_t address, uint8_t swizzle) {
  const uint32_t mask = swizzle == kSwizzle128  ? 0x70
                        : swizzle == kSwizzle64 ? 0x30
                        : swizzle == kSwizzle32 ? 0x10
                                                : 0;
  return address ^ (address >> 3 & mask);
}

}  // namespace vgpu
