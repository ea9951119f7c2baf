// cp.async in flight. A copy's bytes move when its thread waits for them, and not before: until then the
// destination is marked, so that an access that comes too early is found.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "exec/op.h"

namespace vgpu {

struct PendingCopy {
  Mask lanes = 0;                    // still in flight
  Mask unwritten = 0;                // of these, some bytes of the source were never written
  uint32_t op = 0;                   // index of the cp.async
  uint32_t tick = 0;                 // when it was issued
  uint64_t matrix_instructions = 0;  // of its warp, up to then; and so on
  uint64_t global_stores = 0;
  uint64_t waits = 0;
  uint8_t bytes = 0;
  std::array<uint32_t, kLanes> group;  // of each lane: how many groups it had committed before
  std::array<uint32_t, kLanes> dst;    // shared address
  std::array<uint64_t, kLanes> src;
  std::array<uint8_t, kLanes> take;  // bytes read from src; the rest is zero
};

struct AsyncCopies {
  std::vector<PendingCopy> pending;  // oldest first
  std::array<uint32_t, kLanes> committed{};
  std::array<uint32_t, kLanes> committed_at_wait{};  // at the latest wait
  std::vector<uint32_t> commit_ticks;                // of each commit in this block
  uint64_t waits = 0;                                // that completed a copy
  // How many groups the warp had committed by this tick.
  uint32_t committed_by(uint32_t tick) const {
    return static_cast<uint32_t>(std::upper_bound(commit_ticks.begin(), commit_ticks.end(), tick) -
                                 commit_ticks.begin());
  }
  void start_block() {
    pending.clear();
    commit_ticks.clear();
    committed.fill(0);
    committed_at_wait.fill(0);
  }
};

}  // namespace vgpu
