// Host code that dereferences a device pointer faults, as on hardware; here the fault also says what it was.
#pragma once

#include <cstdint>

namespace vgpu {

// From now on a fault inside this range is reported to the engine and on stderr before it ends the program.
// Other faults go to whoever handled them before.
void watch_host_faults(uint64_t device_base, uint64_t device_bytes);

}  // namespace vgpu
