#include "device/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace vgpu {
namespace {

constexpr double kShareOfMachine = 0.6;  // the rest is for the program, the shadow bits and everybody else

uint64_t read_number(const char* path, uint64_t otherwise) {
  std::ifstream file(path);
  uint64_t number = 0;
  return file >> number ? number : otherwise;  // "max" in a cgroup file is not a number: no limit
}

uint64_t machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  uint64_t kilobytes = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  return 4ull << 30;
}

// What is in use there is left out of account: it includes the file cache, which gives way.
constexpr const char* kContainerLimits[] = {
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
};

uint64_t container_limit() {
  uint64_t least = ~0ull;
  for (const char* path : kContainerLimits) least = std::min(least, read_number(path, ~0ull));
  return least;
}

}  // namespace

uint64_t default_memory_limit(double profile_bytes) {
  const double available = static_cast<double>(std::min(machine_available(), container_limit()));
  return static_cast<uint64_t>(std::min(profile_bytes, kShareOfMachine * available));
}

}  // namespace vgpu
