// The part of the CUDA runtime API that device code may call: launches (dynamic parallelism) and their kin.
#pragma once

#include <string_view>

#include "exec/block.h"

namespace vgpu {

// The number of a function by its name in PTX; -1 when there is none.
int device_runtime_function(std::string_view name);
// Whether a name is one of these functions, implemented or not: "cudaMemcpy2DAsync", or empty.
std::string device_runtime_name(std::string_view name);

void call_device_runtime(Warp& w, const CallSite& site, Mask lanes, const Op& op, int function);

}  // namespace vgpu
