// The usual way through the stamps of shared memory: several words at once, and no closer look.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "checks/shared_check.h"
#include "exec/block.h"
#include "exec/warp.h"

namespace vgpu {

// Stamps of neighbouring words, side by side in one CPU register.
template <uint32_t kCount>
struct TickVector {
  typedef uint32_t type __attribute__((vector_size(4 * kCount)));
};
template <>
struct TickVector<1> {
  typedef uint32_t type;
};

// All bits of the stamps for which the condition holds.
template <class Ticks, class Condition>
inline Ticks where(Condition condition) {
  if constexpr (std::is_same_v<Ticks, uint32_t>)
    return 0 - static_cast<uint32_t>(condition);
  else
    return Ticks(condition);
}

inline bool any(uint32_t ticks) {
  return ticks != 0;
}
template <class Ticks>
inline bool any(Ticks ticks) {
  uint32_t bits = 0;
  for (size_t i = 0; i < sizeof ticks / 4; ++i) bits |= ticks[i];
  return bits != 0;
}

// The usual way through the stamps of one lane's words or bytes: all that happened to them is ordered before
// this access. Pointers and ticks are taken out of the block once, for all lanes.
struct QuickStamps {
  uint32_t *write_tick, *write_who, *read_tick, *read_who, *read2_tick, *read2_who, *atomic_tick;
  uint32_t full, begin, now, met;
  bool recent_atomics;
  SharedUse use;

  QuickStamps(StampArrays& s, const Block& b, const Warp& w, SharedUse how)
      : write_tick(s.write_tick.data()),
        write_who(s.write_who.data()),
        read_tick(s.read_tick.data()),
        read_who(s.read_who.data()),
        read2_tick(s.read2_tick.data()),
        read2_who(s.read2_who.data()),
        atomic_tick(s.atomic_tick.data()),
        full(b.full_tick),
        begin(b.start_tick),
        now(b.tick),
        met(w.sync_tick),
        recent_atomics(b.shadow.last_atomic >= b.full_tick),
        use(how) {}

  // Whether something that other threads did is not ordered before this access by a barrier; kInWarp: or, of
  // lanes of this warp, by a meeting of all its lanes.
  template <bool kInWarp, class Ticks>
  Ticks unordered(Ticks tick, Ticks who, uint32_t me) const {
    Ticks other = where<Ticks>(tick >= full) & where<Ticks>((who ^ me) >> 22 != 0);
    if constexpr (kInWarp) other &= ~(where<Ticks>((who ^ me) >> 27 == 0) & where<Ticks>(tick < met));
    return other;
  }

  // Writes the stamps as Access::touch() would. False: they need a closer look, and nothing is written.
  template <uint32_t kCount, bool kInWarp>
  bool take(size_t first, uint32_t me) const {
    using Ticks = typename TickVector<kCount>::type;
    const auto load = [first](const uint32_t* from) {
      Ticks ticks;
      std::memcpy(&ticks, from + first, sizeof ticks);
      return ticks;
    };
    const auto store = [first](uint32_t* to, Ticks ticks) { std::memcpy(to + first, &ticks, sizeof ticks); };
    const Ticks written = load(write_tick), fresh = now - Ticks{}, mine = me - Ticks{};
    Ticks bad = unordered<kInWarp>(written, load(write_who), me);
    if (recent_atomics) bad |= where<Ticks>(load(atomic_tick) >= full);
    if (use == SharedUse::kRead) {
      bad |= where<Ticks>(written < begin);
      if (any(bad)) return false;
      const Ticks read = load(read_tick), reader = load(read_who);
      const Ticks later = where<Ticks>(read >= full) & where<Ticks>((reader ^ me) >> 22 != 0);
      if (!any(later)) {
        store(read_tick, fresh);
        store(read_who, mine);
        return true;
      }
      store(read_tick, (read & later) | (fresh & ~later));
      store(read_who, (reader & later) | (mine & ~later));
      store(read2_tick, (load(read2_tick) & ~later) | (fresh & later));
      store(read2_who, (load(read2_who) & ~later) | (mine & later));
      return true;
    }
    bad |= unordered<kInWarp>(load(read_tick), load(read_who), me);
    bad |= unordered<kInWarp>(load(read2_tick), load(read2_who), me);
    if (any(bad)) return false;
    if (use == SharedUse::kWrite) {
      store(write_tick, fresh);
      store(write_who, mine);
    }
    return true;
  }
};

}  // namespace vgpu
