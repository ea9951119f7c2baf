// cuTensorMapEncodeTiled: checks its arguments as the driver does, and fills the map in our own layout.
#include "tensor_maps.h"

#include <cstring>

#include "errors.h"
#include "tensor_map.h"

namespace vgpu {

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kNotSupported = 801;  // CUresult
constexpr uint64_t kAddressUnit = 16, kMostBox = 256, kMostElementStride = 8;
constexpr uint64_t kMostSize = 1ull << 32, kStrideLimit = 1ull << 40;
constexpr uint8_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};  // by CUtensorMapDataType
constexpr uint32_t kSwizzleBytes[] = {0, 32, 64, 128};                        // by CUtensorMapSwizzle
constexpr int kTypes = sizeof kElementBytes, kSwizzles = 4, kInterleaves = 3, kFills = 2;

}  // namespace

int encode_tiled(void* map, int type, uint32_t rank, void* base, const uint64_t* sizes,
                 const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                 int interleave, int swizzle, int, int fill) {
  if (map == nullptr || base == nullptr || sizes == nullptr || box == nullptr || element_strides == nullptr ||
      strides == nullptr)  // of one dimension, too, which has none
    return kInvalidValue;
  const auto address = reinterpret_cast<uint64_t>(base);
  if (reinterpret_cast<uint64_t>(map) % alignof(TensorMap) != 0 || address % kAddressUnit != 0)
    return kInvalidValue;
  if (type < 0 || type >= kTypes || rank < 1 || rank > kMostTensorDimensions) return kInvalidValue;
  if (interleave < 0 || interleave >= kInterleaves || swizzle < 0 || fill < 0 || fill >= kFills)
    return kInvalidValue;
  // Interleaved layouts are not implemented; nor are the swizzles of later devices.
  if (interleave != 0 || swizzle >= kSwizzles) return kNotSupported;
  TensorMap made{};
  made.magic = kTensorMapMagic;
  made.type = static_cast<uint8_t>(type);
  made.rank = static_cast<uint8_t>(rank);
  made.swizzle = static_cast<uint8_t>(swizzle);
  made.fill = static_cast<uint8_t>(fill);
  made.element_bytes = kElementBytes[type];
  made.base = address;
  for (uint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > kMostSize || box[i] == 0 || box[i] > kMostBox ||
        element_strides[i] == 0 || element_strides[i] > kMostElementStride)
      return kInvalidValue;
    if (i > 0 && (strides[i - 1] % kAddressUnit != 0 || strides[i - 1] >= kStrideLimit)) return kInvalidValue;
    made.size_minus_1[i] = static_cast<uint32_t>(sizes[i] - 1);
    made.box[i] = static_cast<uint16_t>(box[i]);
    made.element_stride[i] = static_cast<uint8_t>(element_strides[i]);
    if (i > 0) made.stride[i - 1] = strides[i - 1];
  }
  const uint32_t row = box[0] * made.element_bytes;
  if (row % kAddressUnit != 0 || (swizzle != 0 && row > kSwizzleBytes[swizzle])) return kInvalidValue;
  // How the hardware places narrower rows is not documented.
  if (swizzle != 0 && row != kSwizzleBytes[swizzle]) {
    say("cuTensorMapEncodeTiled: rows of %u bytes with a swizzle of %u bytes are not supported here: make "
        "the box "
        "as wide as the swizzle",
        row, kSwizzleBytes[swizzle]);
    return kNotSupported;
  }
  std::memcpy(map, &made, sizeof made);
  return kSuccess;
}

}  // namespace vgpu
