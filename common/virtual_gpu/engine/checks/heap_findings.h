// Findings about malloc and free in device code. The callers pass facts; the sentences are here.
#pragma once

#include "exec/block.h"

namespace vgpu::checks {

// `address` was given to free: `live` is the allocation it lies in, `freed` one that lay there before.
void bad_device_free(Warp& w, const Op& op, int lane, uint64_t address, const Allocation* live,
                     const Allocation* freed);

// Memory that kernels allocated and nobody freed: one note for each line that allocated.
std::vector<Finding> heap_leaks(const DeviceHeap& heap);

}  // namespace vgpu::checks
