// The race, initialisation and in-flight checks of one shared-memory access by a warp.
#pragma once

#include "exec/block.h"
#include "exec/shape.h"

namespace vgpu {

enum class SharedUse : uint8_t { kRead, kWrite, kAtomic, kAsyncIssue };

// `address` holds a shared address for every lane of `mask`; each lane touches `bytes` bytes there.
// `synchronises`: a volatile or atomic access, which other warps may race with on purpose.
// True when two lanes of this very instruction write the same word: then their values must agree.
bool check_shared(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, SharedUse use, bool synchronises);

// The same for a read of one place by all 32 lanes, if nothing about it needs a closer look. False: something
// does, and nothing is done.
bool quick_read_by_all(Warp& w, const Op& op, uint32_t address, uint32_t bytes);

// Whether what `thread` did at `tick` comes before what this lane does now.
bool is_ordered(const Block& b, const Warp& w, int lane, uint32_t tick, uint32_t thread);

// The same for an access that has left a stamp: what a wgmma reads is over for those who have waited for it,
// whichever warp of its warpgroup was the first that did.
bool is_ordered_use(const Block& b, const Warp& w, int lane, Stamp use);

// A completed cp.async counts as a write by its threads at the time of the wait.
void stamp_async_writes(Warp& w, const PendingCopy& copy, Mask lanes);

// Memory order through atomics and flags on `address` (any space): acquire what the last release knew, and
// release what this warp knows. Between lanes of one warp only atomics do that; volatile does not.
void order_through(Warp& w, uint64_t address, bool acquires, bool releases, bool within_warp);

// All lanes in `lanes` of the warp have met.
void meet_in_warp(Warp& w, Mask lanes);
// The warps in `warps` have met at a barrier; `everyone`: it took the whole block.
void meet_in_block(Block& b, uint32_t warps, bool everyone);

}  // namespace vgpu
