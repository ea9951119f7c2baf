// Findings about threads that must meet. The callers pass facts; the sentences are here.
#pragma once

#include "exec/block.h"

namespace vgpu::checks {

void matrix_on_partial_warp(Warp& w, const Op& op);
void cluster_arrival_of_partial_warp(Warp& w, const Op& op, uint32_t lanes);
// A barrier of the whole block, after some lanes of this warp have exited.
void barrier_after_exit(Warp& w, const Op& op, int lane);
// The lanes of a warp wait at `op`, others of the block at `other`.
void different_barriers(Warp& w, const Op& op, int lane, const Op& other);
void barrier_operands(Warp& w, const Op& op, int lane, uint32_t id, uint32_t threads);
// `lanes` execute `op`, and their own mask does not name them.
void mask_leaves_caller_out(Warp& w, const Op& op, Mask lanes, uint32_t mask);
void mask_names_absent_lanes(Warp& w, const Op& op, Mask here, Mask absent);

}  // namespace vgpu::checks
