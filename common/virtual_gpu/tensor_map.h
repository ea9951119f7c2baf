// The 128 bytes of a CUtensorMap as the virtual GPU fills and reads them. NVIDIA does not document its own
// layout; programs only pass the map on.
#pragma once

#include <cstdint>

namespace vgpu {

constexpr uint32_t kTensorMapMagic = 0x70616d74;  // "tmap"
constexpr int kMostTensorDimensions = 5;
constexpr int kMostSpatialDimensions = 3;  // of im2col: W, H and D
constexpr uint32_t kTensorChunk = 16;      // bytes: the unit of rows, strides and swizzles
constexpr uint8_t kTensorElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};  // by CUtensorMapDataType
// CUtensorMapDataType. A map has no type of its own for the last two: they are the first two, rounded.
enum TensorType : uint8_t {
  kTensorF32 = 7,
  kTensorF32Ftz = 10,
  kTensorTf32 = 11,
  kTensorTf32Ftz = 12,
};

struct alignas(64) TensorMap {
  uint32_t magic;
  uint8_t type;  // CUtensorMapDataType, without TFLOAT32 and TFLOAT32_FTZ
  uint8_t rank;
  uint8_t interleave, swizzle, fill;  // as in cuda.h
  uint8_t element_bytes;
  uint8_t element_stride[kMostTensorDimensions];
  uint8_t im2col;  // 1: pixels of a bounding box in place of a box
  uint64_t base;
  uint32_t size_minus_1[kMostTensorDimensions];  // elements
  // Elements; with im2col the first alone, which is the channels of a pixel. As on hardware, the other four
  // bytes are then the corners of the bounding box.
  uint8_t box_minus_1[kMostTensorDimensions];
  uint8_t rounds_to_tf32;                      // a bit of its own beside the type, which stays FLOAT32
  uint16_t pixels;                             // of im2col
  uint64_t stride[kMostTensorDimensions - 1];  // bytes, of dimensions 1 to 4
};
static_assert(sizeof(TensorMap) == 128);

inline uint32_t tensor_box(const TensorMap& map, int dimension) {
  return uint32_t{map.box_minus_1[dimension]} + 1;
}

// The corners of a bounding box share 32 bits: the lower corner has the first half, W first in each, and each
// coordinate as many bits as the number of spatial dimensions leaves it. The upper corner counts from the end
// of the tensor.
enum class Corner { kLower, kUpper };
constexpr int kCornerBits[kMostSpatialDimensions] = {16, 8, 5};

inline int32_t tensor_corner(const TensorMap& map, Corner corner, int spatial) {
  const uint8_t* const bytes = map.box_minus_1 + (corner == Corner::kLower ? 1 : 3);
  const int bits = kCornerBits[map.rank - 3];
  const uint32_t half = bytes[0] | uint32_t{bytes[1]} << 8;
  return static_cast<int32_t>(half >> (bits * spatial) << (32 - bits)) >> (32 - bits);
}

inline void set_tensor_corner(TensorMap& map, Corner corner, int spatial, int32_t value) {
  uint8_t* const bytes = map.box_minus_1 + (corner == Corner::kLower ? 1 : 3);
  const int bits = kCornerBits[map.rank - 3];
  const uint32_t mask = (1u << bits) - 1;
  const uint32_t placed = (static_cast<uint32_t>(value) & mask) << (bits * spatial);
  bytes[0] = static_cast<uint8_t>(bytes[0] | placed);
  bytes[1] = static_cast<uint8_t>(bytes[1] | placed >> 8);
}

enum TensorSwizzle : uint8_t { kSwizzleNone = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3 };

// Bytes in which a swizzle exchanges pieces of 16: its rows are as far apart.
inline uint32_t swizzle_span(uint8_t swizzle) {
  return kTensorChunk << swizzle;
}

// An interleaved tensor has the dimensions W, H, D, slice, N (as many of W, H and D as its rank allows), and
// its elements are the 16 or 32 bytes of a slice's channels. A copy takes one slice, whatever the box says.
inline bool is_slice(const TensorMap& map, int dimension) {
  return map.interleave != 0 && dimension == map.rank - 2;
}

// Bytes that a copy finds side by side: a row of the box, the channels of a pixel, or an interleaved element.
inline uint32_t tensor_row_bytes(const TensorMap& map) {
  return map.interleave != 0 ? kTensorChunk << (map.interleave - 1) : tensor_box(map, 0) * map.element_bytes;
}

// How many elements of a box a copy takes along a dimension: a stride leaves some out. Along the first there
// is none, unless the tensor is interleaved.
inline uint32_t tensor_extent(const TensorMap& map, int dimension) {
  if (is_slice(map, dimension)) return 1;
  const bool strided = (dimension > 0 || map.interleave != 0) && map.element_stride[dimension] > 1;
  const uint32_t stride = strided ? map.element_stride[dimension] : 1;
  return (tensor_box(map, dimension) + stride - 1) / stride;
}

// FLOAT32 in place of TFLOAT32, with the bit that says so.
inline void set_tensor_type(TensorMap& map, uint8_t type) {
  const bool rounds = type == kTensorTf32 || type == kTensorTf32Ftz;
  if (rounds) map.rounds_to_tf32 = 1;
  map.type = type == kTensorTf32 ? kTensorF32 : type == kTensorTf32Ftz ? kTensorF32Ftz : type;
  map.element_bytes = kTensorElementBytes[map.type];
}

// The bytes that a copy moves, at most 2^32.
inline uint64_t tensor_box_bytes(const TensorMap& map) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  uint64_t bytes = tensor_row_bytes(map);
  if (map.im2col) return bytes * map.pixels;
  for (int i = map.interleave != 0 ? 0 : 1; i < map.rank; ++i) {
    bytes *= tensor_extent(map, i);
    if (bytes > kMost) bytes = kMost;
  }
  return bytes;
}

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
