#include "checks/shared_check.h"

#include <algorithm>

#include "checks/async_findings.h"
#include "checks/quick_stamps.h"
#include "checks/shared_findings.h"
#include "exec/flags.h"
#include "exec/shortcuts.h"

namespace vgpu {

bool is_ordered(const Block& b, const Warp& w, int lane, uint32_t tick, uint32_t thread) {
  if (tick < b.full_tick) return true;
  const uint32_t warp = thread / kLanes;
  const int other = static_cast<int>(thread % kLanes);
  if (tick <= b.known[w.id][warp]) return true;
  if (b.unit && b.unit->knows(w.id, thread, tick)) return true;
  if (warp != w.id) return false;
  if (other == lane || tick < w.sync_tick) return true;
  return w.lanes_met_apart && tick < w.met[lane] && (w.met_with[lane] >> other & 1);
}

bool is_ordered_use(const Block& b, const Warp& w, int lane, Stamp use) {
  const uint32_t thread = who_thread(use.who);
  if (is_ordered(b, w, lane, use.tick, thread)) return true;
  return b.unit && b.unit->knows(w.id, product_reader(thread), use.tick) &&
         b.launch->kernel.origins[who_op(use.who)].opcode.starts_with("wgmma");
}

namespace {

struct Access : SharedAccess {
  // Whether two accesses that nothing orders are a flag and its use.
  bool may_meet_here(uint32_t first, bool first_writes, uint32_t second, bool second_writes) const {
    if (!(first & second & kWhoAtomic)) return false;
    const std::vector<uint8_t>& uses = b.launch->kernel.flag_use;
    return may_meet(uses[who_op(first)], first_writes, uses[who_op(second)], second_writes);
  }

  // One word or byte with its stamps. `where` indexes `s`.
  void touch(StampArrays& s, size_t where, int lane, uint32_t address, uint32_t bytes) {
    const uint32_t me = make_who(b.thread_of(w, lane), op.index, use == SharedUse::kAtomic || synchronises);
    const uint32_t wt = s.write_tick[where], ww = s.write_who[where];
    const uint32_t at = s.atomic_tick[where], aw = s.atomic_who[where];
    const bool reads = use == SharedUse::kRead || use == SharedUse::kAtomic;
    if (reads && wt < b.start_tick && at < b.start_tick && b.options->check_init)
      uninitialised(lane, address, bytes);
    if (wt >= b.full_tick && b.options->check_race && !ordered(b, w, lane, wt, ww) &&
        !written_by_other_block(b, address / 4, wt)) {
      const bool is_flag = may_meet_here(ww, true, me, use != SharedUse::kRead);
      const bool same_instruction = who_op(ww) == op.index && who_thread(ww) / kLanes == w.id &&
                                    wt == b.tick && use == SharedUse::kWrite;
      lanes_collide |= same_instruction;
      if (!is_flag && !same_instruction) race(lane, address, ww, wt, true);
    }
    if (use != SharedUse::kAtomic && at >= b.full_tick && b.options->check_race &&
        !ordered(b, w, lane, at, aw) && !may_meet_here(aw, true, me, use != SharedUse::kRead))
      race(lane, address, aw, at, true);
    if (use == SharedUse::kRead) {
      uint32_t& rt = s.read_tick[where];
      uint32_t& rw = s.read_who[where];
      if (rt < b.full_tick || who_thread(rw) == who_thread(me)) {
        rt = b.tick;
        rw = me;
      } else {
        s.read2_tick[where] = b.tick;
        s.read2_who[where] = me;
      }
      return;
    }
    if (b.options->check_race) {
      const uint32_t ticks[2] = {s.read_tick[where], s.read2_tick[where]};
      const uint32_t whos[2] = {s.read_who[where], s.read2_who[where]};
      for (int i = 0; i < 2; ++i) {
        if (ticks[i] < b.full_tick || ordered(b, w, lane, ticks[i], whos[i])) continue;
        if (may_meet_here(whos[i], false, me, true)) continue;
        race(lane, address, whos[i], ticks[i], false);
        break;
      }
    }
    if (use == SharedUse::kAsyncIssue) return;  // the write happens at the wait
    if (use == SharedUse::kAtomic) {
      s.atomic_tick[where] = b.shadow.last_atomic = b.tick;
      s.atomic_who[where] = me;
      return;
    }
    s.write_tick[where] = b.tick;
    s.write_who[where] = me;
  }

  // A lane's words, none of which is split or in flight. False: they need a closer look.
  template <uint32_t kWords>
  bool quick_words(int lane, uint32_t address) {
    const SharedShadow& sh = b.shadow;
    const uint32_t first = address / 4;
    uint32_t bad = address % 4;
    if (b.pending_async != 0)
      for (uint32_t i = first; i < first + kWords; ++i) bad |= sh.in_flight[i];
    if (sh.any_split)
      for (uint32_t i = first; i < first + kWords; ++i) bad |= sh.split[i] >= b.start_tick;
    if (bad) return false;
    const uint32_t me = make_who(b.thread_of(w, lane), op.index, synchronises);
    return QuickStamps(b.shadow.words, b, w, use).take<kWords, true>(first, me);
  }

  // The same for one or two bytes of a word, which then has stamps for each of its bytes.
  template <uint32_t kBytes>
  bool quick_bytes(int lane, uint32_t address) {
    SharedShadow& sh = b.shadow;
    if (b.pending_async != 0 && sh.in_flight[address / 4] != 0) return false;
    if (sh.split[address / 4] < b.start_tick) split_word(address / 4);
    const uint32_t me = make_who(b.thread_of(w, lane), op.index, synchronises);
    return QuickStamps(sh.bytes, b, w, use).take<kBytes, true>(address, me);
  }

  // Lanes whose words nothing happened to since the last barrier but by the same thread. Returns the others.
  template <uint32_t kWords>
  Mask quick_lanes(const uint32_t* address, Mask mask) {
    const QuickStamps stamps(b.shadow.words, b, w, use);
    const uint32_t* flying = b.shadow.in_flight.data();
    const uint32_t tag = make_who(b.thread_of(w, 0), op.index, synchronises);
    const bool any_flying = b.pending_async != 0;
    Mask rest = 0;
    for (Mask m = mask; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      const uint32_t first = address[lane] / 4;
      uint32_t bad = address[lane] % 4;
      if (any_flying)
        for (uint32_t i = first; i < first + kWords; ++i) bad |= flying[i];
      if (bad || !stamps.take<kWords, false>(first, tag + (static_cast<uint32_t>(lane) << 22)))
        rest |= 1u << lane;
    }
    return rest;
  }

  // What lane_access() does, for the usual cases. False: not one of them, and nothing is written but that a
  // word may be split.
  bool quick_access(int lane, uint32_t address, uint32_t bytes) {
    if (!kShortcuts || use == SharedUse::kAtomic) return false;
    switch (bytes) {
      case 1:
        return quick_bytes<1>(lane, address);
      case 2:
        return quick_bytes<2>(lane, address);
      case 4:
        return quick_words<1>(lane, address);
      case 8:
        return quick_words<2>(lane, address);
      case 16:
        return quick_words<4>(lane, address);
      default:
        return false;
    }
  }

  void split_word(size_t word) {
    SharedShadow& sh = b.shadow;
    if (sh.bytes.size() == 0) sh.bytes.resize(sh.words.size() * 4);
    sh.any_split = true;
    sh.split[word] = b.tick;
    StampArrays& from = sh.words;
    StampArrays& to = sh.bytes;
    for (size_t i = 4 * word; i < 4 * word + 4; ++i) {
      to.write_tick[i] = from.write_tick[word];
      to.write_who[i] = from.write_who[word];
      to.read_tick[i] = from.read_tick[word];
      to.read_who[i] = from.read_who[word];
      to.read2_tick[i] = from.read2_tick[word];
      to.read2_who[i] = from.read2_who[word];
      to.atomic_tick[i] = from.atomic_tick[word];
      to.atomic_who[i] = from.atomic_who[word];
    }
  }

  void lane_access(int lane, uint32_t address, uint32_t bytes) {
    SharedShadow& sh = b.shadow;
    lane_address = address;
    if (b.pending_async != 0 && b.options->check_async)
      for (uint32_t word = address / 4; word <= (address + bytes - 1) / 4; ++word)
        if (const uint32_t stamp = sh.in_flight[word]; stamp != 0) {
          const bool is_read = !(stamp & kWhoAtomic);
          if (is_read ? use == SharedUse::kRead : use == SharedUse::kAsyncIssue) continue;
          if (is_read)
            checks::overwrites_async_read(w, op, lane, std::max(address, word * 4), stamp);
          else
            in_flight(lane, std::max(address, word * 4), stamp);
          return;
        }
    if (address % 4 == 0 && bytes % 4 == 0) {
      for (uint32_t word = address / 4; word < (address + bytes) / 4; ++word) {
        if (sh.split[word] < b.start_tick) {
          touch(sh.words, word, lane, word * 4, 4);
          continue;
        }
        for (uint32_t i = word * 4; i < word * 4 + 4; ++i) touch(sh.bytes, i, lane, i, 1);
        if (use == SharedUse::kWrite) {
          sh.split[word] = 0;
          for (auto [to, from] : {std::pair{&sh.words.write_tick, &sh.bytes.write_tick},
                                  std::pair{&sh.words.write_who, &sh.bytes.write_who}})
            (*to)[word] = (*from)[word * 4];
          sh.words.read_tick[word] = sh.words.read2_tick[word] = sh.words.atomic_tick[word] = 0;
        }
      }
      return;
    }
    for (uint32_t i = address; i < address + bytes; ++i) {
      if (sh.split[i / 4] < b.start_tick) split_word(i / 4);
      touch(sh.bytes, i, lane, i, 1);
    }
  }
};

// The usual case: lane i touches the words next to lane i-1's, and what happened to them since the last
// barrier was by the same thread, or by this warp before all its lanes met. True when that was so and the
// stamps are written.
template <uint32_t kWords>
bool check_contiguous(Access& a, uint32_t first_word, int first, int count) {
  Block& b = a.b;
  SharedShadow& sh = b.shadow;
  const uint32_t n = kWords * static_cast<uint32_t>(count);
  uint32_t bad = 0;
  if (sh.any_split)
    for (uint32_t i = 0; i < n; ++i) bad |= sh.split[first_word + i] >= b.start_tick;
  if (b.pending_async != 0)
    for (uint32_t i = 0; i < n; ++i) bad |= sh.in_flight[first_word + i];
  // Atomics since the last barrier: rare enough to be looked at lane by lane.
  if (bad || sh.last_atomic >= b.full_tick) return false;
  const uint32_t full = b.full_tick, begin = b.start_tick, now = b.tick;
  const uint32_t thread = b.thread_of(a.w, first);
  const uint32_t tag = make_who(0, a.op.index, a.synchronises);
  const uint32_t met = kShortcuts ? a.w.sync_tick : 0;
  uint32_t who[kLanes * kWords];
  for (uint32_t i = 0; i < n; ++i) who[i] = (thread + i / kWords) << 22 | tag;
  const auto unordered = [=](uint32_t tick, uint32_t by, uint32_t me) {
    return (tick >= full) & ((by ^ me) >> 22 != 0) & !(((by ^ me) >> 27 == 0) & (tick < met));
  };
  uint32_t* wt = sh.words.write_tick.data() + first_word;
  uint32_t* ww = sh.words.write_who.data() + first_word;
  uint32_t* rt = sh.words.read_tick.data() + first_word;
  uint32_t* rw = sh.words.read_who.data() + first_word;
  uint32_t* r2t = sh.words.read2_tick.data() + first_word;
  uint32_t* r2w = sh.words.read2_who.data() + first_word;
  for (uint32_t i = 0; i < n; ++i) bad |= unordered(wt[i], ww[i], who[i]);
  if (a.use == SharedUse::kRead) {
    const uint32_t* at = sh.words.atomic_tick.data() + first_word;
    for (uint32_t i = 0; i < n; ++i) bad |= (wt[i] < begin) & (at[i] < begin);
    if (bad) return false;
    for (uint32_t i = 0; i < n; ++i) {
      const bool mine = (rt[i] < full) | ((rw[i] ^ who[i]) >> 22 == 0);
      r2t[i] = mine ? r2t[i] : now;
      r2w[i] = mine ? r2w[i] : who[i];
      rt[i] = mine ? now : rt[i];
      rw[i] = mine ? who[i] : rw[i];
    }
    return true;
  }
  for (uint32_t i = 0; i < n; ++i) {
    bad |= unordered(rt[i], rw[i], who[i]);
    bad |= unordered(r2t[i], r2w[i], who[i]);
  }
  if (bad) return false;
  if (a.use == SharedUse::kAsyncIssue) return true;
  for (uint32_t i = 0; i < n; ++i) {
    wt[i] = now;
    ww[i] = who[i];
  }
  return true;
}

bool check_contiguous(Access& a, uint32_t first_word, uint32_t words_per_lane, int first, int count) {
  switch (words_per_lane) {
    case 1:
      return check_contiguous<1>(a, first_word, first, count);
    case 2:
      return check_contiguous<2>(a, first_word, first, count);
    case 4:
      return check_contiguous<4>(a, first_word, first, count);
    default:
      return false;
  }
}

// All lanes read the same words: look once, remember two of the readers.
bool check_broadcast_read(Access& a, uint32_t first_word, uint32_t words, Mask mask) {
  Block& b = a.b;
  SharedShadow& sh = b.shadow;
  const int lane = first_lane(mask), last = 31 - std::countl_zero(mask);
  if (sh.last_atomic >= b.full_tick) return false;
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    if (sh.split[word] >= b.start_tick || (b.pending_async != 0 && sh.in_flight[word])) return false;
    const uint32_t wt = sh.words.write_tick[word];
    if (wt >= b.full_tick || (wt < b.start_tick && sh.words.atomic_tick[word] < b.start_tick)) return false;
  }
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    if (sh.words.read_tick[word] >= b.full_tick &&
        who_thread(sh.words.read_who[word]) != b.thread_of(a.w, lane)) {
      sh.words.read2_tick[word] = b.tick;
      sh.words.read2_who[word] = make_who(b.thread_of(a.w, lane), a.op.index, a.synchronises);
      continue;
    }
    sh.words.read_tick[word] = b.tick;
    sh.words.read_who[word] = make_who(b.thread_of(a.w, lane), a.op.index, a.synchronises);
    if (last != lane) {
      sh.words.read2_tick[word] = b.tick;
      sh.words.read2_who[word] = make_who(b.thread_of(a.w, last), a.op.index, a.synchronises);
    }
  }
  return true;
}

// The same where this warp wrote some of the words before all its lanes met. The stamps are those that lanes
// leave which look one after the other: first the one whose own writes these are, then the others in order.
bool check_broadcast_in_warp(Access& a, uint32_t first_word, uint32_t words, Mask mask) {
  Block& b = a.b;
  SharedShadow& sh = b.shadow;
  const uint32_t warp_begin = b.thread_of(a.w, 0);
  const auto lane_of = [&](uint32_t who) {  // -1: not one of these lanes
    const uint32_t lane = who_thread(who) - warp_begin;
    return lane < kLanes && (mask >> lane & 1) ? static_cast<int>(lane) : -1;
  };
  if (!kShortcuts || sh.last_atomic >= b.full_tick) return false;
  int writer = -2;  // -2: not known yet, -1: several
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    if (sh.split[word] >= b.start_tick || (b.pending_async != 0 && sh.in_flight[word])) return false;
    const uint32_t wt = sh.words.write_tick[word], ww = sh.words.write_who[word];
    if (wt < b.start_tick) return false;
    if (wt < b.full_tick) continue;
    if (who_thread(ww) / kLanes != a.w.id || wt >= a.w.sync_tick) return false;
    writer = writer == -2 || writer == lane_of(ww) ? lane_of(ww) : -1;
  }
  const bool in_order = sh.any_split || writer < 0;  // quick_lanes() takes the writer first
  const int first = in_order ? first_lane(mask) : writer;
  const auto last_without = [&](int lane) {
    Mask others = lane >= 0 ? mask & ~(1u << lane) : mask;
    if (!in_order && (others & ~(1u << writer)) != 0) others &= ~(1u << writer);
    return others == 0 ? -1 : 31 - std::countl_zero(others);
  };
  const auto stamp = [&](std::vector<uint32_t>& ticks, std::vector<uint32_t>& whos, uint32_t word, int lane) {
    if (lane < 0) return;
    ticks[word] = b.tick;
    whos[word] = make_who(warp_begin + static_cast<uint32_t>(lane), a.op.index, a.synchronises);
  };
  for (uint32_t word = first_word; word < first_word + words; ++word) {
    const bool was_read = sh.words.read_tick[word] >= b.full_tick;
    const int reader = was_read ? lane_of(sh.words.read_who[word]) : first;
    stamp(sh.words.read_tick, sh.words.read_who, word, reader);
    stamp(sh.words.read2_tick, sh.words.read2_who, word, last_without(reader));
  }
  return true;
}

bool check_read_by_all(Access& a, uint32_t first_word, uint32_t words, Mask mask) {
  return check_broadcast_read(a, first_word, words, mask) ||
         check_broadcast_in_warp(a, first_word, words, mask);
}

}  // namespace

bool quick_read_by_all(Warp& w, const Op& op, uint32_t address, uint32_t bytes) {
  if (bytes % 4 != 0 || bytes > 16 || address % 4 != 0 || used_by_other_blocks(*w.block)) return false;
  Access a{{w, op, SharedUse::kRead, false, *w.block}};
  return check_read_by_all(a, address / 4, bytes / 4, kAllLanes);
}

bool check_shared(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, SharedUse use, bool synchronises) {
  if (mask == 0) return false;
  if (used_by_other_blocks(*w.block) && w.block->options->check_race)
    check_own_use(w, op, address, bytes, mask, use, synchronises);
  Access a{{w, op, use, synchronises, *w.block}};
  const uint32_t base = address[shape.first];
  const bool words = bytes % 4 == 0 && bytes <= 16 && use != SharedUse::kAtomic;
  if (words && base % 4 == 0 && std::popcount(mask) == shape.count) {
    if (shape.contiguous && check_contiguous(a, base / 4, bytes / 4, shape.first, shape.count)) return false;
    if (shape.uniform && use == SharedUse::kRead && check_read_by_all(a, base / 4, bytes / 4, mask))
      return false;
  }
  Mask rest = mask;
  if (words && !a.b.shadow.any_split && a.b.shadow.last_atomic < a.b.full_tick)
    rest = bytes == 4    ? a.quick_lanes<1>(address, mask)
           : bytes == 8  ? a.quick_lanes<2>(address, mask)
           : bytes == 16 ? a.quick_lanes<4>(address, mask)
                         : mask;
  for (; rest != 0; rest &= rest - 1) {
    const int lane = first_lane(rest);
    if (!a.quick_access(lane, address[lane], bytes)) a.lane_access(lane, address[lane], bytes);
  }
  return a.lanes_collide;
}

namespace {

template <uint32_t kWords>
void stamp_copied(SharedShadow& sh, size_t first, uint32_t tick, uint32_t who, uint32_t group) {
  std::fill_n(sh.copy_who.data() + first, kWords, who);
  std::fill_n(sh.copy_group.data() + first, kWords, group);
  std::fill_n(sh.words.write_tick.data() + first, kWords, tick);
  std::fill_n(sh.words.write_who.data() + first, kWords, who);
  std::fill_n(sh.split.data() + first, kWords, 0u);
}

}  // namespace

void stamp_async_writes(Warp& w, const PendingCopy& copy, Mask lanes) {
  Block& b = *w.block;
  const auto stamp = copy.bytes == 16 ? stamp_copied<4> : copy.bytes == 8 ? stamp_copied<2> : stamp_copied<1>;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    stamp(b.shadow, copy.dst[static_cast<size_t>(lane)] / 4, b.tick,
          make_who(b.thread_of(w, lane), copy.op, false), copy.group[static_cast<size_t>(lane)]);
  }
}

}  // namespace vgpu
