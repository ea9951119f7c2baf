// Texture and surface objects, by the handles that programs and kernels hold. Made and destroyed on the
// engine's main thread, between launches; kernels on several threads look them up without a lock.
#pragma once

#include <cstdint>
#include <map>

#include "protocol_texture.h"

namespace vgpu {

class DeviceMemory;

class Textures {
 public:
  // 0 where the description is none that the engine can read, or its texels are in no allocation.
  uint64_t create(const wire::Texture& texture, const DeviceMemory& memory);
  bool destroy(uint64_t handle) { return objects_.erase(handle) != 0; }
  void clear() { objects_.clear(); }
  // nullptr for a number that is no handle.
  const wire::Texture* find(uint64_t handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : &found->second;
  }

 private:
  std::map<uint64_t, wire::Texture> objects_;
  uint64_t next_ = 0x7e000001;  // like no address
};

inline uint32_t texel_bytes(const wire::Texture& texture) {
  return texture.channels * texture.channel_bits / 8;
}

}  // namespace vgpu
