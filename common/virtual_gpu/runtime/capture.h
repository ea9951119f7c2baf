// Streams being recorded into graphs, as far as the runtime library must know of them.
#pragma once

#include <cstdint>

namespace vgpu {

// Asks the engine only while some capture is under way in this process.
bool is_capturing(uint64_t stream);
bool is_any_capturing();

}  // namespace vgpu
