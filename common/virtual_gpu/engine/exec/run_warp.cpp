#include <bit>

#include "checks/launch_findings.h"
#include "checks/report.h"
#include "cost/trace.h"
#include "cuda_error.h"
#include "exec/lanes.h"
#include "exec/scheduler.h"
#include "exec/wgmma.h"

namespace vgpu {

namespace {

constexpr uint64_t kSlice = 200'000;  // warp instructions a split runs before others have a turn
// As many between two looks at the clock. An instruction with a finding takes a thousand times as long as
// others, so a slice of them would outlast any limit.
constexpr uint64_t kLook = 1000;
constexpr uint64_t kShortSlice = 2'000;  // … when other splits of its warp could run
constexpr uint32_t kPollLimit = 64;      // polls before it makes way: it waits for somebody
constexpr int kMostYields = 8;           // times it makes way before lanes at joins are let go for its sake

void run_ops(Warp& w, const Code& code, const Op* op, const Op* end, Mask mask) {
  const int full = mask == kAllLanes;
  w.exec = mask;
  while (true) {
    w.run_end = w.undefined.any() ? nullptr : end;
    for (; op < w.run_end; ++op) {
      if (op->guard == 0) {
        op->fn[full](w, *op);
        continue;
      }
      const Mask m = guard_mask(w, *op, mask);
      if (m == 0) continue;
      w.exec = m;
      op->fn[m == kAllLanes](w, *op);
      w.exec = mask;
    }
    if (op == end) return;
    op = run_followed(w, code, op, end, mask);
  }
}

void branch(Warp& w, int split, const BasicBlock& bb, const Op& op) {
  Split& s = w.splits[static_cast<size_t>(split)];
  const Mask all = s.mask, taken = guard_mask(w, op, all);
  const uint32_t target = static_cast<uint32_t>(op.target), next = s.block + 1;
  if (taken == all) return enter_block(w, split, target);
  if (taken == 0) return enter_block(w, split, next);
  ++w.block->worker->ops[op.index].divergent;
  const int other = diverge(w, split, taken, bb.reconverge, all);
  // Lanes that fall through run first; either side may be at the join already.
  enter_block(w, other, target);
  enter_block(w, split, next);
}

void branch_index(Warp& w, int split, const BasicBlock& bb, const Op& op) {
  Mask left = w.splits[static_cast<size_t>(split)].mask;
  const uint32_t next = w.splits[static_cast<size_t>(split)].block + 1;
  const uint32_t* index = lanes_in<uint32_t>(w, op.src[0]);
  const Mask all = left;
  Mask taken = guard_mask(w, op, all);
  bool parted = false;
  auto part = [&](Mask lanes, uint32_t block) {
    if (lanes == left) {
      enter_block(w, split, block);
    } else {
      parted = true;
      const int other = diverge(w, split, lanes, bb.reconverge, left);
      enter_block(w, other, block);
    }
    left &= ~lanes;
  };
  if (taken != all) part(all & ~taken, next);
  while (taken != 0) {
    const uint32_t target = index[first_lane(taken)];
    Mask same = 0;
    for (Mask m = taken; m != 0; m &= m - 1)
      if (index[first_lane(m)] == target) same |= 1u << first_lane(m);
    taken &= ~same;
    part(same, op.list[std::min<uint64_t>(target, op.targets - 1)]);
  }
  if (parted) ++w.block->worker->ops[op.index].divergent;
}

void trap(Warp& w, const Op& op, Mask lanes) {
  stop_launch(*w.block, cuda::kLaunchFailure);
  checks::trapped(w, op, first_lane(lanes));
}

// Runs one split until it is no longer ready or its turn is over. False: stop the block.
bool run_split(Warp& w, int split) {
  Block& b = *w.block;
  uint64_t slice = 0;
  while (true) {
    // Copies: the vector of splits may grow below.
    const Mask mask = w.splits[static_cast<size_t>(split)].mask;
    const uint32_t at = w.splits[static_cast<size_t>(split)].block;
    Frame* frame = w.splits[static_cast<size_t>(split)].frame;
    const Code& code = *frame->code;
    const BasicBlock& bb = code.blocks[at];
    w.regs = frame->regs;
    BlockCounts& count = b.worker->blocks[code.first_block + at];
    ++count.warps;
    count.lanes += static_cast<uint64_t>(std::popcount(mask));
    const uint32_t n = bb.end - bb.begin;
    w.instructions += n;
    b.instructions += n;
    slice += n;
    if (b.trace != nullptr) b.trace->enter(w.id, code.first_block + at, n);
    const Op* ops = code.ops.data();
    if (w.undefined.any()) forget_dead(w, code, at, mask);
    run_ops(w, code, ops + bb.begin, ops + bb.end - bb.has_control, mask);
    if (!bb.has_control) {
      enter_block(w, split, at + 1);
    } else {
      const Op& op = ops[bb.end - 1];
      w.exec = mask;
      if (w.undefined.any()) follow_control(w, code, op, mask);
      switch (static_cast<Control>(op.control)) {
        case Control::kBranch:
          branch(w, split, bb, op);
          break;
        case Control::kBranchIndex:
          branch_index(w, split, bb, op);
          break;
        case Control::kReturn:
        case Control::kExit: {
          const Mask lanes = guard_mask(w, op, mask);
          const bool leaves = code.is_entry || static_cast<Control>(op.control) == Control::kExit;
          if (lanes != mask) w.splits[static_cast<size_t>(split)].block = at + 1;
          if (lanes && leaves)
            exit_lanes(w, split, lanes);
          else if (lanes)
            return_from(w, split, lanes);
          if (lanes != mask) enter_block(w, split, at + 1);
          break;
        }
        case Control::kCall:
          if (!call_function(w, split, op)) return false;
          break;
        case Control::kBarrier:
          arrive_at_barrier(w, split, op);
          break;
        case Control::kWarpSync:
          arrive_at_warp_sync(w, split, op);
          break;
        case Control::kTrap: {
          const Mask lanes = guard_mask(w, op, mask);
          if (lanes) {
            trap(w, op, lanes);
            return false;
          }
          enter_block(w, split, at + 1);
          break;
        }
        case Control::kProductWait:
          wait_for_products(w, split, op);
          break;
        case Control::kNone:
          break;
      }
    }
    const Split& s = w.splits[static_cast<size_t>(split)];
    if (s.state != SplitState::kReady) return true;
    if (b.instructions - b.looked >= kLook) {
      b.looked = b.instructions;
      if (b.out_of_time()) return false;
    }
    if (slice >= (w.ready > 1 ? kShortSlice : kSlice) || w.polls >= kPollLimit) return true;
    if (b.must_stop()) return false;
  }
}

}  // namespace

Ran run_warp(Warp& w) {
  Block& b = *w.block;
  const uint64_t begin = w.instructions;
  int turns = 0;
  while (w.ready > 0) {
    // Take turns, so that a split that waits for another one's progress is not alone.
    const int n = static_cast<int>(w.splits.size());
    int next = w.current;
    do next = (next + 1) % n;
    while (w.splits[static_cast<size_t>(next)].state != SplitState::kReady);
    w.current = next;
    if (!run_split(w, next)) return Ran::kStopped;
    if (b.must_stop()) return Ran::kStopped;
    if (b.instructions > b.launch->most_instructions) {
      report_hang(b, HangReason::kInstructions);
      return Ran::kStopped;
    }
    if (w.polls >= kPollLimit) {
      w.polls = 0;
      if (++w.yields >= kMostYields) {
        w.yields = 0;
        release_joins(w);
      }
      if (w.ready <= 1 || ++turns >= 32) return Ran::kPolls;
    }
    if (w.instructions - begin >= kSlice) return Ran::kSliced;
  }
  if (w.live() == 0) return Ran::kExited;
  return Ran::kBlocked;
}

}  // namespace vgpu
