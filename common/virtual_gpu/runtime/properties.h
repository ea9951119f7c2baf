// The device profile in CUDA's words.
#pragma once

#include <driver_types.h>

#include "protocol.h"

namespace vgpu {

constexpr int kTextureAlignment = 512, kTexturePitchAlignment = 32;  // bytes

void fill_properties(const wire::DeviceInfo& info, cudaDeviceProp* out);

// cudaErrorInvalidValue for a number that names no attribute. What the virtual GPU does not have is 0.
cudaError_t device_attribute(const wire::DeviceInfo& info, cudaDeviceAttr attribute, int* value);

}  // namespace vgpu
