// Source lines of addresses in an object file, from binutils' addr2line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checks/finding.h"

namespace vgpu {

// For each offset the line and the chain it was inlined at, innermost first; an offset is missing when its
// line cannot be found out, for want of the tool, of the file or of debug information.
using LinesByOffset = std::map<uint64_t, std::vector<SourcePlace>>;

constexpr size_t kMostOffsets = 4096;  // in one command line

LinesByOffset addr2line(const std::string& object_file, const std::vector<uint64_t>& offsets);
// Its two halves: what the tool prints, which another process may ask it for, and what that means.
std::string addr2line_text(const std::string& object_file, const std::vector<uint64_t>& offsets);
LinesByOffset parse_addr2line(const std::string& text);

}  // namespace vgpu
