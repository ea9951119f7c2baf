// Numbers as sentences write them.
#pragma once

#include <cstdint>
#include <string>

#include "checks/finding.h"

namespace vgpu {

std::string hex(uint64_t value);                     // "0x7f00"
std::string count_of(uint64_t n, const char* noun);  // "1 byte", "2 bytes"
std::string dim_text(const Dim3& dim);               // "(3,0,0)"
inline std::string bytes_text(uint64_t n) {
  return count_of(n, "byte");
}

}  // namespace vgpu
