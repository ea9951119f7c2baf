// What is most likely wrong with a barrier, from what was counted of it. Empty where nothing stands out.
#pragma once

#include <string>

#include "exec/block.h"

namespace vgpu::checks {

std::string warps_text(uint32_t warps);  // "warps 1-3"
// "full[+8 bytes]". Where the kernel has no name for the memory, also the line that initialises it.
std::string barrier_name(const Block& b, uint32_t address);

// For warps of this block that wait at mbarriers for ever: what to try, and one that waits where it is wrong.
struct WaitGuess {
  std::string advice;
  size_t warp = 0;
};
WaitGuess guess_at_waits(const Block& b);
// For a warp that begins a stage's next round too early, `copies_begun` of them before this one: the phase
// that it should have waited for.
std::string round_ahead(const Warp& w, uint32_t copies_begun);
// For a copy that begins although `use`, by another thread, may not be over.
std::string early_copy_advice(const Warp& w, const BulkLoad& load, Stamp use);

}  // namespace vgpu::checks
