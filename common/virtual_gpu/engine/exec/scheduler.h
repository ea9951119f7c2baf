// Independent thread scheduling of a warp: splits, joins, and the meetings of lanes and warps.
#pragma once

#include "exec/block.h"

namespace vgpu {

enum class Ran : uint8_t { kExited, kBlocked, kSliced, kPolls, kStopped };

// Runs the warp until its threads have exited, all its splits wait, or it should make way for others.
Ran run_warp(Warp& w);

// splits.cpp
int add_call_join(Warp& w, Frame* frame, uint32_t block, Mask lanes, int parent);
int add_split(Warp& w, Mask mask, uint32_t block, Frame* frame, int join);
void drop_split(Warp& w, int split);
void set_state(Warp& w, int split, SplitState state);
// A split moves on to `block`; it may thereby arrive at its join and cease to be.
void enter_block(Warp& w, int split, uint32_t block);
// Lanes part at a branch: after this the split holds `stay`, and the result holds the others.
int diverge(Warp& w, int split, Mask leave, uint32_t reconverge, Mask all);
// Lanes will not arrive at this join or those above it, up to (not including) `until`.
void leave_joins(Warp& w, int join, Mask lanes, int until);
void exit_lanes(Warp& w, int split, Mask lanes);
// Lanes that wait at joins go on without the others. True when there were any.
bool release_joins(Warp& w);
Mask waiting_at_joins(const Warp& w);
// Splits at the same place become one again.
void merge_splits(Warp& w);

// Splits that wait at a barrier go on; before that, `before` is called with each.
template <class Before>
void release_barrier(Warp& w, uint32_t barrier, Before&& before) {
  bool woke = false;
  for (size_t i = 0; i < w.splits.size(); ++i) {
    Split& s = w.splits[i];
    if (s.state != SplitState::kAtBarrier || s.key != barrier) continue;
    before(s);
    s.waiting = nullptr;
    set_state(w, static_cast<int>(i), SplitState::kReady);
    woke = true;
  }
  if (!woke) return;
  if (w.ready > 1) merge_splits(w);
  for (size_t i = 0; i < w.splits.size(); ++i)
    if (w.splits[i].state == SplitState::kReady) enter_block(w, static_cast<int>(i), w.splits[i].block);
}

// frames.cpp
Frame* enter_frame(Warp& w, const Code& code, Frame* caller, const CallSite* site, Mask lanes);
void leave_frame(Warp& w, Frame* frame, Mask lanes);
void refresh_specials(Warp& w, Frame& frame, bool all);
// Calls a function, or runs a builtin; false when the launch must stop.
bool call_function(Warp& w, int split, const Op& op);
void return_from(Warp& w, int split, Mask lanes);
bool run_builtin(Warp& w, const CallSite& site, Mask lanes, const Op& op);

// barriers.cpp
void arrive_at_barrier(Warp& w, int split, const Op& op);
void check_barriers(Block& b);  // after threads have exited

// warp_sync.cpp
void arrive_at_warp_sync(Warp& w, int split, const Op& op);
// After lanes have exited, or when nothing else in the warp can run. `force`: do without absent lanes, with
// a finding. True when a split went on.
bool settle_warp_sync(Warp& w, bool force);

// hang.cpp
enum class HangReason : uint8_t {
  kCpuTime,
  kInstructions,
  kThreadsPoll,       // and nothing is left to change what they poll
  kBlocksPoll,        // the same of all blocks of the grid
  kBlocksNotStarted,  // resident blocks wait for blocks that have no place before these end
};
void report_hang(Block& b, HangReason reason);
void report_deadlock(Block& b);

}  // namespace vgpu
