// How a check tells: findings are grouped by what and where while the kernel runs, and only the first of a
// group (in block and thread order) is written out.
#pragma once

#include <bit>
#include <string>

#include "checks/words.h"
#include "exec/block.h"

namespace vgpu {

constexpr uint32_t kNoOther = ~0u;

// The group's entry when this occurrence should be written out, else nullptr.
Finding* open_finding(Warp& w, const Op& op, int lane, Mistake mistake, uint32_t other_op, uint64_t rank);
// The same for what another thread of the block did before, by the instruction with this index.
Finding* open_finding(Block& b, uint32_t thread, uint32_t op, Mistake mistake, uint32_t other_op,
                      uint64_t rank);
// The launch answers with its first error, and goes on.
void set_launch_error(Block& block, int error);
// The same, and ends the launch here.
void stop_launch(Block& block, int error);

// build(Finding&) fills message, advice and allocation; place, thread and kernel are there already.
// `other_op` is the second side of a race; of a group, an occurrence of lower `rank` is shown.
template <class Build>
void report(Warp& w, const Op& op, int lane, Mistake mistake, Build build, uint32_t other_op = kNoOther,
            uint64_t rank = 0) {
  if (Finding* f = open_finding(w, op, lane, mistake, other_op, rank)) build(*f);
}

std::string who(const Warp& w, int lane);                        // "thread (3,0,0)"
std::string thread_text(const Launch& launch, uint32_t thread);  // "(3,0,0)"
std::string place_text(const Launch& launch, uint32_t op);       // "kernel.cu:33"
std::string shared_text(const Block& block, uint32_t address);   // "tile[+512]"
std::string lanes_text(Mask lanes);                              // "lanes 16-31"
inline int first_lane(Mask m) {
  return std::countr_zero(m);
}

}  // namespace vgpu
