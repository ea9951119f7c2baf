#include "exec/scheduler.h"

namespace vgpu {

int add_split(Warp& w, Mask mask, uint32_t block, Frame* frame, int join) {
  int at = -1;
  for (size_t i = 0; i < w.splits.size() && at < 0; ++i)
    if (w.splits[i].state == SplitState::kFree) at = static_cast<int>(i);
  if (at < 0) {
    at = static_cast<int>(w.splits.size());
    w.splits.emplace_back();
  }
  Split& s = w.splits[static_cast<size_t>(at)];
  s = Split{};
  s.mask = mask;
  s.block = block;
  s.frame = frame;
  s.join = join;
  s.state = SplitState::kReady;
  ++w.ready;
  return at;
}

void set_state(Warp& w, int split, SplitState state) {
  Split& s = w.splits[static_cast<size_t>(split)];
  w.ready += (state == SplitState::kReady) - (s.state == SplitState::kReady);
  s.state = state;
}

void drop_split(Warp& w, int split) {
  set_state(w, split, SplitState::kFree);
}

namespace {

int add_join(Warp& w, Frame* frame, uint32_t block, Mask expected, int parent) {
  int at = -1;
  for (size_t i = 0; i < w.joins.size() && at < 0; ++i)
    if (!w.joins[i].used) at = static_cast<int>(i);
  if (at < 0) {
    at = static_cast<int>(w.joins.size());
    w.joins.emplace_back();
  }
  w.joins[static_cast<size_t>(at)] = {frame, block, expected, 0, parent, true};
  return at;
}

void arrive(Warp& w, int join, Mask lanes);

void complete_if_all_here(Warp& w, int join) {
  Join& j = w.joins[static_cast<size_t>(join)];
  if (!j.used || j.arrived != j.expected) return;
  const Join done = j;
  j.used = false;
  if (done.arrived == 0) return;
  if (done.parent >= 0) {
    const Join& p = w.joins[static_cast<size_t>(done.parent)];
    if (p.frame == done.frame && p.block == done.block) {
      arrive(w, done.parent, done.arrived);
      return;
    }
  }
  add_split(w, done.arrived, done.block, done.frame, done.parent);
}

void arrive(Warp& w, int join, Mask lanes) {
  w.joins[static_cast<size_t>(join)].arrived |= lanes;
  complete_if_all_here(w, join);
}

}  // namespace

int add_call_join(Warp& w, Frame* frame, uint32_t block, Mask lanes, int parent) {
  return add_join(w, frame, block, lanes, parent);
}

void enter_block(Warp& w, int split, uint32_t block) {
  Split& s = w.splits[static_cast<size_t>(split)];
  s.block = block;
  if (s.join < 0) return;
  const Join& j = w.joins[static_cast<size_t>(s.join)];
  if (j.block != block || j.frame != s.frame) return;
  const Mask lanes = s.mask;
  const int join = s.join;
  drop_split(w, split);
  arrive(w, join, lanes);
}

int diverge(Warp& w, int split, Mask leave, uint32_t reconverge, Mask all) {
  int join = w.splits[static_cast<size_t>(split)].join;
  Frame* frame = w.splits[static_cast<size_t>(split)].frame;
  if (reconverge != kNoBlock) {
    // A loop that lanes leave one after the other joins them all at the same place.
    const bool same = join >= 0 && w.joins[static_cast<size_t>(join)].frame == frame &&
                      w.joins[static_cast<size_t>(join)].block == reconverge;
    if (!same) join = add_join(w, frame, reconverge, all, join);
  }
  const uint32_t block = w.splits[static_cast<size_t>(split)].block;
  const int other = add_split(w, leave, block, frame, join);
  Split& s = w.splits[static_cast<size_t>(split)];
  s.mask = all & ~leave;
  s.join = join;
  return other;
}

void leave_joins(Warp& w, int join, Mask lanes, int until) {
  while (join >= 0 && join != until) {
    Join& j = w.joins[static_cast<size_t>(join)];
    const int parent = j.parent;
    j.expected &= ~lanes;
    j.arrived &= ~lanes;
    complete_if_all_here(w, join);
    join = parent;
  }
}

void exit_lanes(Warp& w, int split, Mask lanes) {
  Split& s = w.splits[static_cast<size_t>(split)];
  const int join = s.join;
  Frame* frame = s.frame;
  s.mask &= ~lanes;
  if (s.mask == 0) drop_split(w, split);
  w.exited |= lanes;
  w.block->exited_threads += static_cast<uint32_t>(std::popcount(lanes));
  for (Frame* f = frame; f != nullptr; f = f->caller) f->lanes &= ~lanes;
  leave_joins(w, join, lanes, -1);
  settle_warp_sync(w, false);
  check_barriers(*w.block);
}

bool release_joins(Warp& w) {
  bool any = false;
  for (size_t i = 0; i < w.joins.size(); ++i) {
    Join& j = w.joins[i];
    if (!j.used || j.arrived == 0) continue;
    const Mask lanes = j.arrived;
    Frame* frame = j.frame;
    const uint32_t block = j.block;
    const int parent = j.parent;
    j.expected &= ~lanes;
    j.arrived = 0;
    if (j.expected == 0) j.used = false;
    const int split = add_split(w, lanes, block, frame, parent);
    enter_block(w, split, block);
    any = true;
  }
  return any;
}

Mask waiting_at_joins(const Warp& w) {
  Mask m = 0;
  for (const Join& j : w.joins)
    if (j.used) m |= j.arrived;
  return m;
}

void merge_splits(Warp& w) {
  for (size_t a = 0; a < w.splits.size(); ++a) {
    if (w.splits[a].state != SplitState::kReady) continue;
    for (size_t b = a + 1; b < w.splits.size(); ++b) {
      Split& first = w.splits[a];
      Split& second = w.splits[b];
      if (second.state != SplitState::kReady || first.block != second.block || first.frame != second.frame)
        continue;
      // Both go on under the nearest join they share.
      int shared = first.join;
      auto contains = [&](int from, int join) {
        for (int j = from; j >= 0; j = w.joins[static_cast<size_t>(j)].parent)
          if (j == join) return true;
        return join < 0;
      };
      while (shared >= 0 && !contains(second.join, shared))
        shared = w.joins[static_cast<size_t>(shared)].parent;
      const Mask first_lanes = first.mask, second_lanes = second.mask;
      const int first_join = first.join, second_join = second.join;
      first.mask |= second_lanes;
      first.join = shared;
      drop_split(w, static_cast<int>(b));
      leave_joins(w, first_join, first_lanes, shared);
      leave_joins(w, second_join, second_lanes, shared);
    }
  }
}

}  // namespace vgpu
