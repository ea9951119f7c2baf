// Findings about values that nothing has defined. The caller passes facts; the sentences are here.
#pragma once

#include "exec/block.h"

namespace vgpu::checks {

// `op` uses what `origin` brought.
void undefined_value(Block& b, const Origin& origin, const Op& op, Use use);

}  // namespace vgpu::checks
