// How much memory the virtual device may offer on this machine.
#pragma once

#include <cstdint>

namespace vgpu {

// The profile's size, or 60 % of what the machine (and a container's limit) has available now if that is
// less.
uint64_t default_memory_limit(double profile_bytes);

}  // namespace vgpu
