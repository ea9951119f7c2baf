// Shuffles, votes, matches, reductions and __syncwarp: lanes that the mask names wait for each other, from
// wherever in the code they come.
#include "exec/warp_sync.h"

#include <algorithm>

#include "checks/report.h"
#include "checks/shared_check.h"
#include "checks/sync_findings.h"
#include "exec/lanes.h"
#include "exec/scheduler.h"
#include "exec/shortcuts.h"
#include "ops/lane_map.h"

namespace vgpu {

namespace {

// What the lanes bring, gathered from all splits that take part.
struct Exchange {
  uint64_t value[kLanes] = {};
  Mask predicate = 0;
  Mask present = 0;
  UndefinedLane undefined[kLanes];  // what the value or predicate lacks
};

bool is_shuffle(WarpSync k) {
  return k >= WarpSync::kShuffleUp && k <= WarpSync::kShuffleIndex;
}
bool is_vote(WarpSync k) {
  return k >= WarpSync::kVoteAll && k <= WarpSync::kBallot;
}
bool is_wide(WarpSync k) {
  return k == WarpSync::kMatchAny64 || k == WarpSync::kMatchAll64;
}

void gather(Exchange& x, Warp& w, const Op& op, Mask lanes) {
  const WarpSync kind = op.warp_sync.what;
  x.present |= lanes;
  if (kind == WarpSync::kMeet || kind == WarpSync::kElect) return;
  if (w.undefined.any())
    for (Mask m = lanes; m != 0; m &= m - 1)
      x.undefined[first_lane(m)] = w.undefined.at(w.regs + op.src[0], first_lane(m));
  if (is_vote(kind)) {
    x.predicate |= predicate(w, op.src[0]) & lanes;
    return;
  }
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    x.value[lane] =
        is_wide(kind) ? lanes_in<uint64_t>(w, op.src[0])[lane] : lanes_in<uint32_t>(w, op.src[0])[lane];
  }
}

// What such a lane gives is undefined, and reported where it is used.
UndefinedLane from_absent_lane(Warp& w, const Op& op, int lane, int from) {
  Origin origin{Mistake::kShuffleFromAbsentLane, op.index, w.block->thread_of(w, lane)};
  origin.lane = from;
  origin.exited = w.exited >> from & 1;
  return {kAllLanes, w.block->undefined.add(origin), true};
}

void shuffle(Warp& w, const Op& op, const Exchange& x, Mask lanes) {
  const WarpSync kind = op.warp_sync.what;
  const uint32_t* b = lanes_in<uint32_t>(w, op.src[1]);
  const uint32_t* c = lanes_in<uint32_t>(w, op.src[2]);
  uint32_t result[kLanes] = {};
  UndefinedLane undefined[kLanes];
  Mask inside = 0;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const int segment = static_cast<int>(c[lane] >> 8 & 31), clamp = static_cast<int>(c[lane] & 31);
    const int last = (lane & segment) | (clamp & ~segment);
    const int by = static_cast<int>(b[lane] & 31);
    int from = lane;
    bool ok = false;
    switch (kind) {
      case WarpSync::kShuffleUp:
        from = lane - by;
        ok = from >= last;
        break;
      case WarpSync::kShuffleDown:
        from = lane + by;
        ok = from <= last;
        break;
      case WarpSync::kShuffleXor:
        from = lane ^ by;
        ok = from <= last;
        break;
      default:
        from = (lane & segment) | (by & ~segment);
        ok = from <= last;
        break;
    }
    if (!ok) from = lane;
    if (ok) inside |= 1u << lane;
    undefined[lane] = x.undefined[from];
    if (!(x.present >> from & 1)) {
      if (w.block->options->check_sync) undefined[lane] = from_absent_lane(w, op, lane, from);
      from = lane;
    }
    result[lane] = static_cast<uint32_t>(x.value[from]);
  }
  write_lanes<false, uint32_t>(w, op.dst, [&](int i) { return result[i]; });
  for (Mask m = op.dst != 0 ? lanes : 0; m != 0; m &= m - 1)
    if (undefined[first_lane(m)].bits != 0 || w.undefined.any())
      w.undefined.set(w.regs + op.dst, first_lane(m), undefined[first_lane(m)]);
  if (op.warp_sync.has_second) write_predicate(w, op.dst2, inside);
}

// The lane that each lane shuffles from, itself where that would lie outside of its segment. Returns the
// lanes that stay inside.
template <class From>
Mask shuffle_sources(const uint32_t* b, const uint32_t* c, bool up, From from, uint32_t* source) {
  Mask inside = 0;
  for (int i = 0; i < kLanes; ++i) {
    const int segment = static_cast<int>(c[i] >> 8 & 31), clamp = static_cast<int>(c[i] & 31);
    const int last = (i & segment) | (clamp & ~segment);
    const int at = from(i, static_cast<int>(b[i] & 31), segment);
    const bool ok = up ? at >= last : at <= last;
    source[i] = static_cast<uint32_t>(ok ? at : i);
    inside |= static_cast<Mask>(ok) << i;
  }
  return inside;
}

// A shuffle in which every lane finds the one that it asks for, and no value is undefined. False: it is not
// one, and nothing is written.
bool quick_shuffle(Warp& w, const Op& op, Mask lanes) {
  if (w.undefined.any()) return false;
  const uint32_t* b = lanes_in<uint32_t>(w, op.src[1]);
  const uint32_t* c = lanes_in<uint32_t>(w, op.src[2]);
  uint32_t source[kLanes];
  Mask inside = 0;
  switch (op.warp_sync.what) {
    case WarpSync::kShuffleUp:
      inside = shuffle_sources(b, c, true, [](int lane, int by, int) { return lane - by; }, source);
      break;
    case WarpSync::kShuffleDown:
      inside = shuffle_sources(b, c, false, [](int lane, int by, int) { return lane + by; }, source);
      break;
    case WarpSync::kShuffleXor:
      inside = shuffle_sources(b, c, false, [](int lane, int by, int) { return lane ^ by; }, source);
      break;
    default:
      inside = shuffle_sources(
          b, c, false, [](int lane, int by, int segment) { return (lane & segment) | (by & ~segment); },
          source);
      break;
  }
  if (lanes != kAllLanes) {
    Mask absent = 0;
    for (int i = 0; i < kLanes; ++i) absent |= (~lanes >> source[i] & 1) << i;
    if (absent & lanes) return false;
  }
  uint32_t value[kLanes], result[kLanes];
  std::copy_n(lanes_in<uint32_t>(w, op.src[0]), kLanes, value);
  for (int i = 0; i < kLanes; ++i) result[i] = value[source[i]];
  w.exec = lanes;
  write_lanes<false, uint32_t>(w, op.dst, [&](int i) { return result[i]; });
  if (op.warp_sync.has_second) write_predicate(w, op.dst2, inside);
  return true;
}

uint32_t reduce(WarpSync kind, const Exchange& x, Mask members) {
  uint32_t r = 0;
  bool first = true;
  for (Mask m = members; m != 0; m &= m - 1) {
    const uint32_t v = static_cast<uint32_t>(x.value[first_lane(m)]);
    if (first) {
      r = v;
      first = false;
      continue;
    }
    switch (kind) {
      case WarpSync::kReduceAdd:
        r += v;
        break;
      case WarpSync::kReduceMinU:
        r = std::min(r, v);
        break;
      case WarpSync::kReduceMaxU:
        r = std::max(r, v);
        break;
      case WarpSync::kReduceMinS:
        r = static_cast<uint32_t>(std::min(static_cast<int32_t>(r), static_cast<int32_t>(v)));
        break;
      case WarpSync::kReduceMaxS:
        r = static_cast<uint32_t>(std::max(static_cast<int32_t>(r), static_cast<int32_t>(v)));
        break;
      case WarpSync::kReduceAnd:
        r &= v;
        break;
      case WarpSync::kReduceOr:
        r |= v;
        break;
      default:
        r ^= v;
        break;
    }
  }
  return r;
}

// How the result of anything but a shuffle lacks what the members' values lack.
void hand_on_undefined(Warp& w, const Op& op, const Exchange& x, Mask lanes, Mask members) {
  const WarpSync kind = op.warp_sync.what;
  for (uint32_t dst : {op.dst, op.warp_sync.has_second ? op.dst2 : 0}) w.undefined.clear(w.regs + dst, lanes);
  Mask open = 0;
  UndefinedLane sum;
  for (Mask m = members; m != 0; m &= m - 1) {
    const UndefinedLane& u = x.undefined[first_lane(m)];
    if (u.bits == 0) continue;
    open |= 1u << first_lane(m);
    sum.add(u);
  }
  const Mask yes = x.predicate & members & ~open, no = members & ~x.predicate & ~open;
  const bool settled = (kind == WarpSync::kVoteAny && yes != 0) || (kind == WarpSync::kVoteAll && no != 0) ||
                       (kind == WarpSync::kVoteUniform && yes != 0 && no != 0);
  if (open == 0 || settled || op.dst == 0) return;
  sum.bits = kind == WarpSync::kBallot ? open : is_vote(kind) ? 1 : kAllLanes;
  sum.computed = true;
  for (Mask m = lanes; m != 0; m &= m - 1) w.undefined.set(w.regs + op.dst, first_lane(m), sum);
}

// Gives the lanes of one split their results; `members` are the lanes that exchange with each other.
void apply(Warp& w, const Op& op, const Exchange& x, Mask lanes, Mask members) {
  const WarpSync kind = op.warp_sync.what;
  w.exec = lanes;
  if (is_shuffle(kind)) {
    Exchange part = x;
    part.present &= members;
    shuffle(w, op, part, lanes);
    return;
  }
  if (w.undefined.any() && kind != WarpSync::kMeet) hand_on_undefined(w, op, x, lanes, members);
  auto uniform = [&](uint32_t v) { write_lanes<false, uint32_t>(w, op.dst, [&](int) { return v; }); };
  const Mask yes = x.predicate & members;
  switch (kind) {
    case WarpSync::kMeet:
      return;
    case WarpSync::kVoteAll:
      return write_predicate(w, op.dst, yes == members ? kAllLanes : 0);
    case WarpSync::kVoteAny:
      return write_predicate(w, op.dst, yes != 0 ? kAllLanes : 0);
    case WarpSync::kVoteUniform:
      return write_predicate(w, op.dst, yes == 0 || yes == members ? kAllLanes : 0);
    case WarpSync::kBallot:
      return uniform(yes);
    case WarpSync::kElect:
      if (op.dst) uniform(static_cast<uint32_t>(first_lane(members)));
      if (op.warp_sync.has_second) write_predicate(w, op.dst2, 1u << first_lane(members));
      return;
    case WarpSync::kMatchAny32:
    case WarpSync::kMatchAny64: {
      uint32_t same[kLanes] = {};
      for (Mask m = lanes; m != 0; m &= m - 1)
        for (Mask n = members; n != 0; n &= n - 1)
          if (x.value[first_lane(m)] == x.value[first_lane(n)]) same[first_lane(m)] |= 1u << first_lane(n);
      return write_lanes<false, uint32_t>(w, op.dst, [&](int i) { return same[i]; });
    }
    case WarpSync::kMatchAll32:
    case WarpSync::kMatchAll64: {
      bool all = true;
      for (Mask m = members; m != 0; m &= m - 1)
        all &= x.value[first_lane(m)] == x.value[first_lane(members)];
      uniform(all ? members : 0);
      if (op.warp_sync.has_second) write_predicate(w, op.dst2, all ? kAllLanes : 0);
      return;
    }
    default:
      return uniform(reduce(kind, x, members));
  }
}

void check_membership(Warp& w, const Op& op, Mask group, uint32_t named) {
  if ((group & ~named) == 0 || !w.block->options->check_sync) return;
  checks::mask_leaves_caller_out(w, op, group & ~named, named);
}

void finish(Warp& w, const Op& op, Mask members) {
  if (op.warp_sync.what == WarpSync::kMeet) meet_in_warp(w, members);
}

}  // namespace

void arrive_at_warp_sync(Warp& w, int split, const Op& op) {
  const Mask lanes = w.splits[static_cast<size_t>(split)].mask;
  const uint32_t* named = lanes_in<uint32_t>(w, op.src[3]);
  const WarpSync kind = op.warp_sync.what;
  const uint32_t first_key = named[first_lane(lanes)];
  uint32_t other = 0;
  for (int i = 0; i < kLanes; ++i)
    other |= (named[i] ^ first_key) & (ops::lane_is_on<uint32_t>(lanes, i) ? ~0u : 0u);
  const bool all_here =
      kShortcuts && other == 0 && (lanes & ~first_key) == 0 && (first_key & w.live() & ~lanes) == 0;
  if (all_here && kind == WarpSync::kMeet) {
    w.exec = lanes;
    meet_in_warp(w, lanes);
    return enter_block(w, split, w.splits[static_cast<size_t>(split)].block + 1);
  }
  if (all_here && is_shuffle(kind) && quick_shuffle(w, op, lanes))
    return enter_block(w, split, w.splits[static_cast<size_t>(split)].block + 1);
  // Usually: one mask, and everyone it names is here.
  Mask rest = lanes;
  bool complete = true;
  Mask groups[kLanes];
  int count = 0;
  while (rest != 0) {
    const uint32_t key = named[first_lane(rest)];
    Mask group = 0;
    for (Mask m = rest; m != 0; m &= m - 1)
      if (named[first_lane(m)] == key) group |= 1u << first_lane(m);
    rest &= ~group;
    groups[count++] = group;
    check_membership(w, op, group, key);
    complete &= (key & w.live() & ~group) == 0;
  }
  const uint32_t next = w.splits[static_cast<size_t>(split)].block + 1;
  if (complete) {
    Exchange x;
    gather(x, w, op, lanes);
    for (int g = 0; g < count; ++g) apply(w, op, x, groups[g], groups[g]), finish(w, op, groups[g]);
    enter_block(w, split, next);
    return;
  }
  // Groups with different masks go separate ways from here.
  for (int g = 0; g < count; ++g) {
    int at = split;
    if (g + 1 < count) {
      const Split s = w.splits[static_cast<size_t>(split)];
      at = add_split(w, groups[g], s.block, s.frame, s.join);
      w.splits[static_cast<size_t>(split)].mask &= ~groups[g];
    }
    Split& s = w.splits[static_cast<size_t>(at)];
    s.waiting = &op;
    s.key = named[first_lane(groups[g])];
    s.block = next;
    set_state(w, at, SplitState::kAtWarpSync);
  }
  settle_warp_sync(w, false);
}

bool settle_warp_sync(Warp& w, bool force) {
  bool any = false;
  for (size_t i = 0; i < w.splits.size(); ++i) {
    if (w.splits[i].state != SplitState::kAtWarpSync) continue;
    const uint32_t key = w.splits[i].key;
    const Op& op = *w.splits[i].waiting;
    Mask here = 0;
    auto takes_part = [&](const Split& s) {
      return s.state == SplitState::kAtWarpSync && s.key == key &&
             s.waiting->warp_sync.what == op.warp_sync.what;
    };
    for (const Split& s : w.splits)
      if (takes_part(s)) here |= s.mask;
    const Mask absent = key & w.live() & ~here;
    if (absent != 0) {
      if (!force) continue;
      if (w.block->options->check_sync) checks::mask_names_absent_lanes(w, op, here, absent);
    }
    Exchange x;
    std::vector<size_t> members;
    for (size_t k = 0; k < w.splits.size(); ++k)
      if (takes_part(w.splits[k])) {
        w.regs = w.splits[k].frame->regs;
        gather(x, w, *w.splits[k].waiting, w.splits[k].mask);
        members.push_back(k);
      }
    for (size_t k : members) {
      w.regs = w.splits[k].frame->regs;
      apply(w, *w.splits[k].waiting, x, w.splits[k].mask, here);
    }
    finish(w, op, here);
    for (size_t k : members) {
      w.splits[k].waiting = nullptr;
      set_state(w, static_cast<int>(k), SplitState::kReady);
    }
    merge_splits(w);
    for (size_t k : members)
      if (w.splits[k].state == SplitState::kReady) enter_block(w, static_cast<int>(k), w.splits[k].block);
    any = true;
    if (force) return true;
  }
  return any;
}

}  // namespace vgpu
