// Findings about calls of the driver API name its functions, not those of the runtime API that do the same.
#pragma once

#include <string>

namespace vgpu::checks {

std::string in_driver_words(const std::string& text);

}  // namespace vgpu::checks
