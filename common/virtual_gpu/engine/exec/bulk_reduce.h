// The arithmetic of cp.reduce.async.bulk, element by element.
#pragma once

#include <cstdint>

#include "exec/async_detail.h"

namespace vgpu {

// Combines `bytes` bytes at `from` into those at `to`.
void reduce_bytes(BulkReduction reduction, BulkType type, uint8_t* to, const uint8_t* from, uint32_t bytes);

}  // namespace vgpu
