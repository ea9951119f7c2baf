// Barriers of a block. Threads are counted one by one, as hardware has done since sm_70: a barrier that
// part of a warp reaches waits for the rest.
#include "checks/report.h"
#include "checks/shared_check.h"
#include "checks/sync_findings.h"
#include "cost/trace.h"
#include "cuda_error.h"
#include "exec/lanes.h"
#include "exec/scheduler.h"
#include "exec/warp_sync.h"

namespace vgpu {

namespace {

// Warps that have exited altogether release a barrier. One that has lost some of its lanes may not: PTX asks
// that all threads of a warp execute a barrier, and hardware only counts those that are left.
void report_exited(Block& b, const Barrier& bar) {
  for (Warp& w : b.warps) {
    if (w.exited == 0 || w.live() == 0) continue;
    for (const Split& s : w.splits)
      if (s.state == SplitState::kAtBarrier && s.waiting)
        return checks::barrier_after_exit(w, *bar.first, first_lane(s.mask));
  }
}

// All threads of a block must come to the same barrier in the source.
void check_same_place(Block& b, int id) {
  const Op* first = nullptr;
  for (Warp& w : b.warps)
    for (const Split& s : w.splits) {
      if (s.state != SplitState::kAtBarrier || s.key != static_cast<uint32_t>(id)) continue;
      if (first == nullptr) first = s.waiting;
      if (s.waiting == first ||
          place_text(*b.launch, s.waiting->index) == place_text(*b.launch, first->index))
        continue;
      checks::different_barriers(w, *s.waiting, first_lane(s.mask), *first);
      return;
    }
}

void complete(Block& b, int id) {
  Barrier bar = b.barriers[id];
  const bool everyone = bar.expected == 0;
  if (b.options->check_sync && everyone) {
    if (b.exited_threads > 0) report_exited(b, bar);
    check_same_place(b, id);
  }
  b.barriers[id] = Barrier{};
  if (b.trace != nullptr) ++b.trace->named_phase[id];
  if (b.options->check_race)
    meet_in_block(b, bar.arrived_warps, everyone);
  else
    ++b.tick, b.full_tick = everyone ? b.tick : b.full_tick;
  for (Warp& w : b.warps)
    release_barrier(w, static_cast<uint32_t>(id), [&](const Split& s) {
      const Op& op = *s.waiting;
      w.regs = s.frame->regs;
      w.exec = s.mask;
      if (op.barrier.what == BarrierOp::kCount)
        write_lanes<false, uint32_t>(w, op.dst, [&](int) { return bar.reduction_count; });
      else if (op.barrier.what == BarrierOp::kAnd)
        write_predicate(w, op.dst, bar.reduction_and ? kAllLanes : 0);
      else if (op.barrier.what == BarrierOp::kOr)
        write_predicate(w, op.dst, bar.reduction_or ? kAllLanes : 0);
    });
}

bool is_complete(const Block& b, const Barrier& bar) {
  if (bar.arrived == 0) return false;
  if (bar.expected != 0) return bar.arrived >= bar.expected;
  return bar.arrived + b.exited_threads >= b.launch->threads;
}

}  // namespace

void check_barriers(Block& b) {
  for (int id = 0; id < kBarriers; ++id)
    if (is_complete(b, b.barriers[id])) complete(b, id);
  check_cluster_barrier(b);
}

void arrive_at_barrier(Warp& w, int split, const Op& op) {
  if (op.barrier.what == BarrierOp::kClusterArrive) return arrive_in_cluster(w, split, op);
  if (op.barrier.what == BarrierOp::kClusterWait) return wait_for_cluster(w, split, op);
  Block& b = *w.block;
  Split& s = w.splits[static_cast<size_t>(split)];
  const int lane = first_lane(s.mask);
  const uint32_t id = lanes_in<uint32_t>(w, op.src[0])[lane];
  const uint32_t count = op.barrier.counted ? lanes_in<uint32_t>(w, op.src[1])[lane] : 0;
  if (id >= kBarriers ||
      (op.barrier.counted && (count == 0 || count % kLanes != 0 || count > 1024 + kLanes))) {
    stop_launch(b, cuda::kLaunchFailure);
    checks::barrier_operands(w, op, lane, id, count);
    return;
  }
  Barrier& bar = b.barriers[id];
  if (bar.arrived == 0) {
    bar.expected = count;
    bar.first = &op;
  }
  const BarrierOp what = op.barrier.what;
  if (b.trace != nullptr && (op.barrier.counted || what == BarrierOp::kArrive))
    b.trace->arrives(w.id, op.index, BlockTrace::named_barrier(id), b.trace->named_phase[id]);
  // A counted barrier takes a whole warp as 32 threads, whatever it has lost.
  bar.arrived +=
      op.barrier.counted && s.mask == w.live() ? kLanes : static_cast<uint32_t>(std::popcount(s.mask));
  bar.arrived_warps |= 1u << w.id;
  if (what == BarrierOp::kCount || what == BarrierOp::kAnd || what == BarrierOp::kOr) {
    const Mask yes = predicate(w, op.src[2]) & s.mask;
    bar.reduction_count += static_cast<uint32_t>(std::popcount(yes));
    bar.reduction_or |= yes != 0;
    if (yes != s.mask) bar.reduction_and = 0;
  }
  if (what == BarrierOp::kArrive) {
    enter_block(w, split, s.block + 1);
  } else {
    s.waiting = &op;
    s.key = id;
    s.block += 1;
    set_state(w, split, SplitState::kAtBarrier);
  }
  if (is_complete(b, bar)) complete(b, static_cast<int>(id));
}

}  // namespace vgpu
