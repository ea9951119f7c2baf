// Findings about what ends or refuses a launch. The callers pass facts; the sentences are here.
#pragma once

#include "exec/scheduler.h"

namespace vgpu::checks {

void stack_overflow(Warp& w, const Op& op, int lane, int depth);
void bad_function_pointer(Warp& w, const Op& op, int lane);
void trapped(Warp& w, const Op& op, int lane);
void assertion_failed(Warp& w, const Op& op, int lane, const std::string& what);
void endless(Warp& w, const Op& op, int lane, HangReason reason);
void deadlock(Warp& w, const Op& op, int lane);
// A launch, copy or fill that device code asks for.
void child_refused(Warp& w, const Op& op, int lane, const std::string& why);
void unknown_condition(Warp& w, const Op& op, int lane);
Finding unsupported(const Unsupported& what);

// Where the split goes on: the instruction it waits at, else the end of the block that runs next. In a loop
// that is most often the condition.
const Op& op_at(const Split& split);

}  // namespace vgpu::checks
