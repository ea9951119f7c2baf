// Checks, counters and exchanges have shorter ways for the usual cases, which must give the same results,
// findings and counters as the long ones. VGPU_SHORTCUTS=off turns them off, so that tests can compare.
#pragma once

#include <cstdlib>
#include <string_view>

namespace vgpu {

inline const bool kShortcuts = [] {
  const char* said = std::getenv("VGPU_SHORTCUTS");
  return said == nullptr || std::string_view(said) != "off";
}();

}  // namespace vgpu
