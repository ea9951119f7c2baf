// The estimate in words.
#pragma once

#include <string>

#include "cost/estimate.h"

namespace vgpu {

std::string longest_term(const Estimate& estimate);
// One sentence about the longest term.
std::string explain(const Estimate& estimate, const LaunchReport& report, const Profile& profile);

}  // namespace vgpu
