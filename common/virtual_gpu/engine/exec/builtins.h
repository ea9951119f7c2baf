// Functions that the engine itself provides to device code.
#pragma once

#include "exec/block.h"

namespace vgpu {

// An argument of the call, up to 8 bytes.
uint64_t call_argument(const Warp& w, const CallSite& site, size_t i, int lane);
// A word of an argument of any size.
uint32_t call_word(const Warp& w, const CallSite& site, size_t i, size_t word, int lane);
// What the call returns; nothing happens where the program does not take it.
void set_call_result(Warp& w, const CallSite& site, int lane, uint64_t value);
// Writes bytes at a generic address, as a lane would; false where it may not.
bool write_generic(Warp& w, int lane, uint64_t address, uint32_t bytes, const void* from);

// heap_ops.cpp
void allocate_from_heap(Warp& w, const CallSite& site, Mask lanes, const Op& op, bool aligned);
// For one lane; nullptr when the heap is exhausted.
Allocation* heap_allocation(Warp& w, const Op& op, uint64_t bytes, uint64_t align = 16);
void free_to_heap(Warp& w, const CallSite& site, Mask lanes, const Op& op);

}  // namespace vgpu
