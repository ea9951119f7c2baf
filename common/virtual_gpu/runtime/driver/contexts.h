// Contexts of the driver API, and which one is current to a thread.
#pragma once

#include <cuda.h>

namespace vgpu {

constexpr int kOnlyDevice = 0;  // the first one, and no other

// The primary context, which the runtime API uses.
CUcontext primary_context();
// nullptr when none is. A thread that has used the runtime API has the primary one.
CUcontext current_context();
// Whether cuInit or a function of the runtime API was called.
bool is_initialised();

}  // namespace vgpu
