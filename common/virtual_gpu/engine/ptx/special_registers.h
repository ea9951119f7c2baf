// The predefined registers, by name: %tid.x, %laneid, WARP_SZ, …
#pragma once

#include <string_view>

namespace vgpu::ptx {

bool is_special_register(std::string_view name);

}  // namespace vgpu::ptx
