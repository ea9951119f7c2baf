// What a pointer of the program points at, known from its address alone: the ranges are fixed.
#pragma once

#include <cstdint>

#include "protocol.h"

namespace vgpu {

enum class PointerClass { kPageable, kDevice, kPinned };  // kPinned: managed memory too

inline PointerClass classify(const void* pointer) {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  if (address - wire::kDeviceBase < wire::kArenaBytes) return PointerClass::kDevice;
  if (address - wire::kPinnedBase < wire::kArenaBytes) return PointerClass::kPinned;
  return PointerClass::kPageable;
}

}  // namespace vgpu
