// Launches of which only a few blocks run: those of sizes that the engine cannot run whole.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/block.h"

namespace vgpu {

// Numbers of blocks, or of clusters: the first, the last, and others that the seed draws for this launch.
std::vector<uint64_t> drawn_units(uint64_t units, const Options& options, int launch);

// Runs them, one after the other, each for as long as its share of instructions lasts. Returns how many
// blocks have begun.
uint64_t run_drawn(Launch& launch, Worker& worker, SampleState& state);

}  // namespace vgpu
