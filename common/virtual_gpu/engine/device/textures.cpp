#include "device/textures.h"

#include "device/memory.h"

namespace vgpu {
namespace {

bool is_readable(const wire::Texture& t) {
  const bool sized = t.channel_bits == 8 || t.channel_bits == 16 || t.channel_bits == 32;
  const bool counted = t.channels == 1 || t.channels == 2 || t.channels == 4;
  if (!sized || !counted || t.format > wire::ChannelFormat::kFloat) return false;
  if (t.format == wire::ChannelFormat::kFloat && t.channel_bits == 8) return false;
  for (const wire::AddressMode mode : t.modes)
    if (mode > wire::AddressMode::kBorder) return false;
  if (t.filter > wire::FilterMode::kLinear || t.read > wire::ReadMode::kNormalizedFloat) return false;
  constexpr uint32_t kMost = 1u << 28;
  if (t.width == 0 || t.height == 0 || t.depth == 0) return false;
  if (t.width > kMost || t.height > kMost || t.depth > kMost) return false;
  return t.height * uint64_t{t.depth} == 1 || t.pitch >= uint64_t{t.width} * texel_bytes(t);
}

bool is_there(const wire::Texture& t, const DeviceMemory& memory) {
  const Allocation* a = memory.find(t.address);
  const unsigned __int128 rows = static_cast<unsigned __int128>(t.height) * t.depth - 1;
  const unsigned __int128 bytes = rows * t.pitch + uint64_t{t.width} * texel_bytes(t);
  return a != nullptr && t.address % texel_bytes(t) == 0 && bytes <= a->end() - t.address;
}

}  // namespace

uint64_t Textures::create(const wire::Texture& texture, const DeviceMemory& memory) {
  if (!is_readable(texture) || !is_there(texture, memory)) return 0;
  objects_[next_] = texture;
  return next_++;
}

}  // namespace vgpu
