// Functions that the engine itself provides to device code.
#pragma once

#include "exec/block.h"

namespace vgpu {

// An argument of the call, up to 8 bytes.
uint64_t call_argument(const Warp& w, const CallSite& site, size_t i, int lane);
// What the call returns; nothing happens where the program does not take it.
void set_call_result(Warp& w, const CallSite& site, int lane, uint64_t value);

// heap_ops.cpp
void allocate_from_heap(Warp& w, const CallSite& site, Mask lanes, const Op& op, bool aligned);
void free_to_heap(Warp& w, const CallSite& site, Mask lanes, const Op& op);

}  // namespace vgpu
