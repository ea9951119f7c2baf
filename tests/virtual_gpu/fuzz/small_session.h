// A device for one input of a fuzzer: little memory, one CPU thread, launches that end soon, no other
// process.
#pragma once

#include "device/profile.h"
#include "server/session.h"

namespace vgpu {

inline SessionConfig small_device() {
  SessionConfig config;
  config.profile = load_profile("", "");
  config.options.threads = 1;
  config.options.max_seconds = 0.02;
  config.memory_limit = 64ull << 20;
  config.quiet = true;
  config.look_up_lines = [](const std::string&, const std::vector<uint64_t>&) { return LinesByOffset{}; };
  return config;
}

}  // namespace vgpu
