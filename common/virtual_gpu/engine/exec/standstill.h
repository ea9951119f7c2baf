// Threads that poll for something that will never come.
#pragma once

#include <cstdint>
#include <span>

#include "exec/block.h"

namespace vgpu {

// Watches blocks whose threads poll, from round to round. They stand still when their whole state is the same
// as after an earlier round and nothing was stored between the two: all that follows is the same again. A
// loop that polls and counts, or goes through many addresses, has another state after each round.
class Standstill {
 public:
  // After a round over the blocks. `changed`: something happened that may let a thread go on.
  bool after_round(bool changed, std::span<Block* const> blocks);

 private:
  uint64_t idle_ = 0;      // rounds without a change
  uint64_t compared_ = 0;  // of these, the round whose state is kept …
  uint64_t state_ = 0;     // … and a hash of that state
  uint64_t clock_reads_ = 0;
};

}  // namespace vgpu
