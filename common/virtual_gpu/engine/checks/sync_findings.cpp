#include "checks/sync_findings.h"

#include <cstdio>

#include "checks/report.h"

namespace vgpu::checks {

void matrix_on_partial_warp(Warp& w, const Op& op) {
  report(w, op, first_lane(w.exec), Mistake::kMatrixOnPartialWarp, [&](Finding& f) {
    f.message = "a matrix operation of the whole warp runs with " + lanes_text(w.exec) + " only";
    f.advice =
        "mma, wmma and ldmatrix need all 32 lanes: keep them out of branches that part of the warp skips, "
        "and launch blocks of whole warps.";
  });
}

void cluster_arrival_of_partial_warp(Warp& w, const Op& op, uint32_t lanes) {
  report(w, op, first_lane(lanes), Mistake::kClusterArrivalOfPartialWarp, [&](Finding& f) {
    f.message = "of warp " + std::to_string(w.id) + " only " + lanes_text(lanes) +
                " arrive at the cluster's barrier here";
    f.advice =
        "The hardware counts arrivals of whole warps: where lanes of a warp arrive in different branches, an "
        "H200 waits for ever. Move the arrival out of the branch, behind __syncwarp().";
  });
}

void barrier_after_exit(Warp& w, const Op& op, int lane) {
  report(w, op, lane, Mistake::kBarrierAfterExit, [&](Finding& f) {
    f.message = "a barrier of the whole block, which " + lanes_text(w.exited) + " of warp " +
                std::to_string(w.id) + " never reach: they have exited";
    f.advice =
        "Let every thread reach __syncthreads(): guard the work with the condition, not the way to the "
        "barrier.";
  });
}

void different_barriers(Warp& w, const Op& op, int lane, const Op& other) {
  const auto build = [&](Finding& f) {
    f.message = who(w, lane) + " waits at this barrier while others of its block wait at another one (" +
                place_text(*w.block->launch, other.index) + ")";
    f.advice =
        "__syncthreads() may stand in a branch only when all threads of the block take it: move it out of "
        "the branch.";
  };
  report(w, op, lane, Mistake::kDifferentBarriers, build, other.index);
}

void barrier_operands(Warp& w, const Op& op, int lane, uint32_t id, uint32_t threads) {
  report(w, op, lane, Mistake::kBarrierOperands, [&](Finding& f) {
    f.message = "barrier " + std::to_string(id) + " with " + std::to_string(threads) +
                " threads: a block has barriers 0 to 15, and a thread count is a multiple of 32";
    f.advice = "Check both operands of the barrier.";
  });
}

void mask_leaves_caller_out(Warp& w, const Op& op, Mask lanes, uint32_t mask) {
  report(w, op, first_lane(lanes), Mistake::kMaskLeavesCallerOut, [&](Finding& f) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", mask);
    f.message = lanes_text(lanes) + " execute this with mask " + text + ", which does not name them";
    f.advice = "The mask must name every lane that executes the call: use the lanes that really get here.";
  });
}

void mask_names_absent_lanes(Warp& w, const Op& op, Mask here, Mask absent) {
  report(w, op, first_lane(here), Mistake::kMaskNamesAbsentLanes, [&](Finding& f) {
    f.message = lanes_text(here) + " wait here for " + lanes_text(absent) +
                ", which the mask names but which do not come: they took another branch";
    f.advice = "Name only the lanes that execute the call, or move it to where the whole warp passes.";
  });
}

}  // namespace vgpu::checks
