// Texture and surface objects as they travel to the engine.
#pragma once

#include <cstdint>

namespace vgpu::wire {

// Numbers are those of CUDA's enumerations.
enum class ChannelFormat : uint32_t { kSigned, kUnsigned, kFloat };     // cudaChannelFormatKind
enum class AddressMode : uint32_t { kWrap, kClamp, kMirror, kBorder };  // cudaTextureAddressMode
enum class FilterMode : uint32_t { kPoint, kLinear };                   // cudaTextureFilterMode
enum class ReadMode : uint32_t { kElement, kNormalizedFloat };          // cudaTextureReadMode

// Rows of texels in device memory: `depth` slices, or layers, of `height` rows.
struct Texture {
  uint64_t address, pitch;
  uint32_t width, height, depth;  // in texels; 1 where there is no such dimension
  uint32_t channels, channel_bits;
  ChannelFormat format;
  uint32_t is_layered, is_linear, is_surface;  // is_linear: a row of memory that is read by whole numbers
  AddressMode modes[3];
  FilterMode filter;
  ReadMode read;
  uint32_t normalized;  // coordinates from 0 to 1
  float border[4];
};

}  // namespace vgpu::wire
