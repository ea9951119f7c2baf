// Which blocks of a launch share an SM, and which follow each other.
#pragma once

#include <cstdint>
#include <vector>

namespace vgpu {

// The work of the blocks that the SM with the most of it gets, in the order in which they start. Blocks are
// dealt to the SMs in turn until each has `resident` of them; every further one follows a block that has
// ended. A block takes as long as it has work.
std::vector<uint64_t> busiest_sm(const std::vector<uint64_t>& work, uint64_t sms, uint64_t resident);

// The most work of blocks that follow each other, of those alone that have `least` or more.
uint64_t longest_chain(const std::vector<uint64_t>& work, uint64_t sms, uint64_t resident, uint64_t least);

}  // namespace vgpu
