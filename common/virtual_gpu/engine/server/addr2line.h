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
std::map<uint64_t, std::vector<SourcePlace>> addr2line(const std::string& object_file,
                                                       const std::vector<uint64_t>& offsets);

}  // namespace vgpu
