// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col: check their arguments as the driver does, and fill the
// map in our own layout. What the driver checks beyond its documentation, and what not, was seen on an H200.
#include "tensor_maps.h"

#include <cstring>
#include <iterator>

#include "errors.h"
#include "tensor_map.h"

namespace vgpu {

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1;                // CUresult
constexpr uint64_t kAddressUnit = 16, kWideAddressUnit = 32;  // bytes; of interleaved slices of 32 bytes
constexpr uint32_t kMostBox = 256, kMostElementStride = 8, kMostPixels = 1024;
constexpr uint64_t kMostSize = 1ull << 32, kStrideLimit = 1ull << 40;
constexpr uint64_t kMostTensorBytes = 228 << 10;  // shared memory of an SM; 255 KiB are refused
constexpr int kSwizzles = 4, kInterleaves = 3, kFills = 2, kPromotions = 4;
constexpr int kFirstFloat = 6;  // CU_TENSOR_MAP_DATA_TYPE_FLOAT16
constexpr int kTypes = std::size(kTensorElementBytes);

bool is_one_of(int value, int count) {
  return value >= 0 && value < count;
}

// Fills in what both kinds have in common; false where the driver refuses.
bool describe(const TensorArguments& t, TensorMap* made) {
  // Of one dimension, too, which has no strides, the driver wants that pointer.
  if (t.sizes == nullptr || t.strides == nullptr || t.element_strides == nullptr) return false;
  if (!is_one_of(t.type, kTypes) || !is_one_of(t.interleave, kInterleaves) ||
      !is_one_of(t.swizzle, kSwizzles) || !is_one_of(t.l2_promotion, kPromotions) ||
      !is_one_of(t.fill, kFills))
    return false;
  if (t.fill != 0 && t.type < kFirstFloat) return false;
  const uint32_t least_rank = t.interleave != 0 ? 3 : 1;
  if (t.rank < least_rank || t.rank > kMostTensorDimensions) return false;
  const uint64_t unit = t.interleave == 2 ? kWideAddressUnit : kAddressUnit;
  const auto address = reinterpret_cast<uint64_t>(t.base);
  if (address % unit != 0) return false;
  made->magic = kTensorMapMagic;
  made->rank = static_cast<uint8_t>(t.rank);
  made->interleave = static_cast<uint8_t>(t.interleave);
  made->swizzle = static_cast<uint8_t>(t.swizzle);
  made->fill = static_cast<uint8_t>(t.fill);
  set_tensor_type(*made, static_cast<uint8_t>(t.type));
  made->base = address;
  for (uint32_t i = 0; i < t.rank; ++i) {
    if (t.sizes[i] == 0 || t.sizes[i] > kMostSize || t.element_strides[i] == 0 ||
        t.element_strides[i] > kMostElementStride)
      return false;
    if (i > 0 && (t.strides[i - 1] % unit != 0 || t.strides[i - 1] >= kStrideLimit)) return false;
    made->size_minus_1[i] = static_cast<uint32_t>(t.sizes[i] - 1);
    made->element_stride[i] = static_cast<uint8_t>(t.element_strides[i]);
    if (i > 0) made->stride[i - 1] = t.strides[i - 1];
  }
  return true;
}

// The first dimension of the box, or the channels of a pixel: in interleaved tensors, too, whose rows are of
// another length.
bool row_fits(const TensorMap& map) {
  const uint32_t row = tensor_box(map, 0) * map.element_bytes;
  if (row % kTensorChunk != 0) return false;
  return map.interleave != 0 || map.swizzle == kSwizzleNone || row <= swizzle_span(map.swizzle);
}

int finish(const TensorMap& made, void* map) {
  if (!row_fits(made) || tensor_box_bytes(made) > kMostTensorBytes) return kInvalidValue;
  std::memcpy(map, &made, sizeof made);
  return kSuccess;
}

}  // namespace

int encode_tiled(void* map, const TensorArguments& tensor, const uint32_t* box) {
  TensorMap made{};
  if (map == nullptr || box == nullptr || !describe(tensor, &made)) return kInvalidValue;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (box[i] == 0 || box[i] > kMostBox) return kInvalidValue;
    made.box_minus_1[i] = static_cast<uint8_t>(box[i] - 1);
  }
  return finish(made, map);
}

int encode_im2col(void* map, const TensorArguments& tensor, const int* lower, const int* upper,
                  uint32_t channels, uint32_t pixels) {
  TensorMap made{};
  if (map == nullptr || !describe(tensor, &made) || tensor.rank < 3) return kInvalidValue;
  if (lower == nullptr || upper == nullptr) {
    say("cuTensorMapEncodeIm2col: a corner of the bounding box is a null pointer, which ends a program on a "
        "GPU");
    return kInvalidValue;
  }
  if (channels == 0 || channels > kMostBox || pixels == 0 || pixels > kMostPixels) return kInvalidValue;
  made.im2col = 1;
  made.box_minus_1[0] = static_cast<uint8_t>(channels - 1);
  made.pixels = static_cast<uint16_t>(pixels);
  const uint32_t spatial = tensor.rank - 2, first = tensor.interleave != 0 ? 0 : 1;
  const int limit = 1 << (kCornerBits[spatial - 1] - 1);
  for (uint32_t i = 0; i < spatial; ++i) {
    if (lower[i] < -limit || lower[i] >= limit || upper[i] < -limit || upper[i] >= limit)
      return kInvalidValue;
    const int64_t pixels_across = static_cast<int64_t>(tensor.sizes[i + first]) + upper[i] - lower[i];
    if (pixels_across < 1) return kInvalidValue;
    const int axis = static_cast<int>(i);
    set_tensor_corner(made, Corner::kLower, axis, lower[i]);
    set_tensor_corner(made, Corner::kUpper, axis, upper[i]);
  }
  return finish(made, map);
}

}  // namespace vgpu
