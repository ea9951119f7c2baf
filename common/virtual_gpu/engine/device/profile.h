// A device profile: the handful of numbers that make one GPU model differ from another.
#pragma once

#include <string>

namespace vgpu {

struct Profile {
  std::string id, name;
#define COUNT(name) int name = 0;
#define FIGURE(name) double name = 0;
#include "device/profile.def"
};

// Reads the profile `id`, or the default where that is empty, out of a file such as profiles.json. Where
// `path` is empty, it reads the profiles.json that this engine was built with. Throws std::runtime_error.
Profile load_profile(const std::string& path, const std::string& id);

// The text of profiles.json; common/build/engine/build.py makes the file that defines it.
extern const char* const kBuiltInProfiles;

}  // namespace vgpu
