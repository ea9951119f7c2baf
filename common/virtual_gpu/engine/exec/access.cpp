#include "exec/access.h"

#include <cstring>

#include "checks/access_findings.h"
#include "checks/report.h"
#include "cost/trace.h"
#include "cuda_error.h"
#include "exec/flags.h"
#include "exec/shortcuts.h"
#include "exec/traffic.h"
#include "ops/lane_map.h"

namespace vgpu {

namespace {

constexpr uint64_t kMappedPage = 2ull << 20;  // hardware maps memory in pages of this size

using checks::LaneAccess;

// An offset of 32 bits is wrong by 2^32 elements. nullptr if that leads nowhere. Behind an allocation of more
// than 2^32 elements it always leads into it, so that says nothing.
const Allocation* meant_by(const DeviceMemory& memory, uint64_t address) {
  for (const uint64_t element_bytes : {1, 2, 4, 8, 16}) {
    const uint64_t wrapped = element_bytes << 32;
    if (const Allocation* meant = memory.find(address + wrapped)) return meant;
    const Allocation* below = memory.find(address - wrapped);
    if (below != nullptr && below->bytes < wrapped) return below;
  }
  return nullptr;
}

void report_bad_address(const LaneAccess& access) {
  Block& b = *access.w.block;
  const DeviceMemory& memory = b.launch->env.memory;
  checks::Surroundings around{};
  around.freed = memory.find_freed(access.address);
  around.nearest = memory.nearest(access.address, &around.distance);
  if (around.freed == nullptr) {
    around.reserved = memory.find_reserved(access.address);
    around.wild = around.reserved != nullptr || around.nearest == nullptr ||
                  static_cast<uint64_t>(std::abs(around.distance)) > kMappedPage;
  }
  // What the harness has freed was never the program's: it may have met it, or come near it, by chance.
  const Allocation* found = around.freed != nullptr ? around.freed : around.nearest;
  const bool by_chance = found != nullptr && found->freed && !found->from_program;
  if (around.wild || by_chance) around.meant = meant_by(memory, access.address);
  if (around.meant != nullptr) around.freed = nullptr;
  if (around.wild || around.meant != nullptr) set_launch_error(b, cuda::kIllegalAddress);
  checks::bad_address(access, around);
}

}  // namespace

void report_bad_address(Warp& w, const Op& op, int lane, uint64_t address, uint32_t bytes,
                        Direction direction) {
  report_bad_address({w, op, lane, address, bytes, direction});
}

namespace {

void report_misaligned(const LaneAccess& access, const std::string& allocation) {
  set_launch_error(*access.w.block, cuda::kMisalignedAddress);
  checks::misaligned(access, allocation);
}

bool written(const Allocation& a, uint64_t address, uint64_t bytes) {
  if (a.all_written) return true;
  uint64_t at = address - a.base;
  const uint64_t end = at + bytes;
  while (at < end) {
    const uint32_t bit = at & 63;
    const uint64_t here = std::min<uint64_t>(64 - bit, end - at);
    const uint64_t mask = (here == 64 ? ~0ull : (1ull << here) - 1) << bit;
    if ((a.written[at / 64] & mask) != mask) return false;
    at += here;
  }
  return true;
}

void check_global_race(Warp& w, const Op& op, int lane, uint64_t address, uint32_t bytes,
                       Direction direction) {
  using Knows = GlobalRaceMap::Knows;
  Block& b = *w.block;
  GlobalRaceMap& map = *b.launch->global_race;
  const bool writes = direction == Direction::kStore || direction == Direction::kAtomic;
  const std::vector<uint8_t>& uses = b.launch->kernel.flag_use;
  const uint8_t use = uses[op.index];
  if ((use & kStrong) && writes) {
    if (op.flags & kPublishes) map.fence(b.linear);
    map.meet(b.linear, address, use & kAtomic, true);
  }
  const GlobalRaceMap::Party me = map.party(b.linear, op.index);
  map.for_each(address, bytes, [&](GlobalRaceMap::Touch& t) {
    const auto unknown = [&](const GlobalRaceMap::Party& other) {
      return other.block != 0 && other.block != me.block && map.knows(b.linear, other) != Knows::kAll;
    };
    const auto races_with_reader = [&](const GlobalRaceMap::Party& reader) {
      if (!unknown(reader)) return false;
      const uint8_t load = uses[reader.op];
      // A plain load before an atomic is a guess that the atomic checks.
      return load & kStrong ? !(use & kStrong) || !may_meet(load, false, use, true) : !(use & kAtomic);
    };
    const bool against_write = unknown(t.writer) && !(use & uses[t.writer.op] & kStrong &&
                                                      may_meet(uses[t.writer.op], true, use, writes));
    const bool in_reader = writes && races_with_reader(t.reader);
    if (against_write || in_reader || (writes && races_with_reader(t.reader_before))) {
      const GlobalRaceMap::Party& other = against_write ? t.writer : in_reader ? t.reader : t.reader_before;
      checks::race_between_blocks({w, op, lane, address, bytes, direction}, other, against_write,
                                  map.knows(b.linear, other) == Knows::kNoFence,
                                  (use & uses[other.op] & kStrong) != 0);
    }
    if (writes) {
      t.writer = me;
    } else {
      if (t.reader.block != me.block) t.reader_before = t.reader;
      t.reader = me;
    }
  });
  // What a flag shows of others does not excuse the look at the flag itself.
  if (use & (kWaits | kDecides)) map.meet(b.linear, address, true, false);
}

}  // namespace

namespace {

// Whether all these lanes touch aligned places of the allocation.
bool lie_inside(const Allocation& allocation, const uint64_t* address, uint32_t bytes, Mask mask) {
  const uint64_t begin = allocation.base, size = allocation.end() - begin;
  if (size < bytes) return false;
  uint64_t outside = 0, bits = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t at = (address[i] - begin) & (ops::lane_is_on<uint64_t>(mask, i) ? ~0ull : 0ull);
    outside |= at > size - bytes ? 1 : 0;
    bits |= at;
  }
  return outside == 0 && bits % bytes == 0 && begin % bytes == 0;
}

Mask allowed_lanes(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                   const Shape& shape, Direction direction) {
  Block& b = *w.block;
  const Options& o = *b.options;
  Worker& worker = *b.worker;
  Allocation*& recent = worker.recent[op.index & 63];
  const bool reads = direction != Direction::kStore;
  if (shape.contiguous || shape.uniform) {
    const uint64_t low = address[shape.first];
    const uint64_t high = low + (shape.uniform ? bytes : static_cast<uint64_t>(shape.count) * bytes);
    if (!recent || low < recent->base || high > recent->end()) recent = b.launch->env.memory.find(low);
    if (recent && low >= recent->base && high <= recent->end() && low % bytes == 0 &&
        (!reads || !o.check_init || written(*recent, low, high - low)) && !b.launch->global_race)
      return mask;
  }
  const uint64_t first = address[first_lane(mask)];
  if (!recent || first < recent->base || first >= recent->end()) recent = b.launch->env.memory.find(first);
  if (kShortcuts && recent && (!reads || !o.check_init || recent->all_written) && !b.launch->global_race &&
      lie_inside(*recent, address, bytes, mask))
    return mask;
  Mask good = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint64_t a = address[lane];
    if (!recent || a < recent->base || a + bytes > recent->end()) {
      Allocation* found = b.launch->env.memory.find(a);
      if (!found || a + bytes > found->end()) {
        if (o.check_memory) report_bad_address({w, op, lane, a, bytes, direction});
        // Even unchecked, the engine itself must not fault.
        continue;
      }
      recent = found;
    }
    if (a % bytes != 0) {
      report_misaligned({w, op, lane, a, bytes, direction}, recent->name);
      continue;
    }
    if (reads && o.check_init && !written(*recent, a, bytes)) {
      const Origin origin{Mistake::kUnwrittenGlobal, op.index, b.thread_of(w, lane), a, recent};
      for (uint32_t i = 0; i < bytes; ++i)
        if (!written(*recent, a + i, 1)) note_unwritten(w, op, lane, origin, i, 1);
    }
    if (b.launch->global_race) check_global_race(w, op, lane, a, bytes, direction);
    good |= 1u << lane;
  }
  return good;
}

void note_touched(Warp& w, const uint64_t* address, uint32_t bytes, Mask mask, const Shape& shape,
                  Direction direction) {
  const bool in_any_order = direction == Direction::kAtomic && !w.block->launch->kernel.traits.mixes_atomics;
  const Touch touch = in_any_order                                                      ? Touch::kUpdate
                      : direction == Direction::kLoad || direction == Direction::kAsync ? Touch::kRead
                                                                                        : Touch::kWrite;
  TouchMap& touched = *w.block->worker->touched;
  if ((shape.contiguous || shape.uniform) && std::popcount(mask) == shape.count)
    return touched.note(touch, address[shape.first], shape.uniform ? bytes : uint64_t{bytes} * shape.count);
  for (Mask m = mask; m != 0; m &= m - 1) touched.note(touch, address[first_lane(m)], bytes);
}

TraceAccess trace_access(Direction direction) {
  return direction == Direction::kLoad     ? TraceAccess::kLoad
         : direction == Direction::kStore  ? TraceAccess::kStore
         : direction == Direction::kAtomic ? TraceAccess::kAtomic
                                           : TraceAccess::kAsync;
}

// How many lanes write where the host sees it too: memory that is pinned or managed.
int lanes_to_host(const uint64_t* address, Mask mask, const Shape& shape) {
  if (shape.contiguous || shape.uniform)
    return DeviceMemory::in_pinned_arena(address[shape.first]) ? std::popcount(mask) : 0;
  int lanes = 0;
  for (Mask m = mask; m != 0; m &= m - 1) lanes += DeviceMemory::in_pinned_arena(address[first_lane(m)]);
  return lanes;
}

}  // namespace

Mask check_global(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, Direction direction) {
  const Mask good = allowed_lanes(w, op, address, bytes, mask, shape, direction);
  if (good == 0) return good;
  const Worker& worker = *w.block->worker;
  if (worker.touched) note_touched(w, address, bytes, good, shape, direction);
  if (worker.proxies)
    worker.proxies->access(w, op, address, bytes, good, shape, direction != Direction::kStore,
                           direction == Direction::kStore || direction == Direction::kAtomic);
  return good;
}

void count_global(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, Direction direction) {
  Block& b = *w.block;
  if (!b.options->counters || mask == 0) return;
  BlockTrace* outline = nullptr;
  if (b.trace != nullptr) {
    WarpTrace& trace = b.trace->warps[w.id];
    const bool polls = direction == Direction::kLoad && (op.flags & kPolls);
    const bool again = polls && trace.polls_again(address[first_lane(mask)]);
    if (direction != Direction::kStore && !again) trace.asked();
    if (b.trace->is_outline)
      outline = again || trace.cut ? nullptr : b.trace;
    else
      b.trace->global(w.id, op.index, address, bytes, mask, trace_access(direction));
  }
  OpCounts& c = b.worker->ops[op.index];
  SectorMap* loads = direction == Direction::kStore   ? nullptr
                     : direction == Direction::kAsync ? b.launch->copy_sectors
                                                      : b.launch->load_sectors;
  SectorMap* stores =
      direction == Direction::kStore || direction == Direction::kAtomic ? b.launch->store_sectors : nullptr;
  ++c.global_requests;
  c.global_bytes += static_cast<uint64_t>(std::popcount(mask)) * bytes;
  if (direction == Direction::kStore || direction == Direction::kAtomic)
    c.host_bytes += static_cast<uint64_t>(lanes_to_host(address, mask, shape)) * bytes;
  auto mark = [&](uint64_t at, uint32_t n) {
    if (!DeviceMemory::in_device_arena(at)) return;
    if (loads) loads->mark(at, n);
    if (stores) stores->mark(at, n);
  };
  if (direction == Direction::kAtomic)
    c.global_sectors += static_cast<uint64_t>(atomic_sectors(address, mask));
  const bool counted = direction == Direction::kAtomic || direction == Direction::kAsync;
  if (shape.contiguous || shape.uniform) {
    const uint64_t low = address[shape.first];
    const uint64_t high = low + (shape.uniform ? bytes : static_cast<uint64_t>(shape.count) * bytes) - 1;
    const uint32_t n = static_cast<uint32_t>((high >> 5) - (low >> 5) + 1);
    if (!counted) c.global_sectors += n;
    if (outline != nullptr) outline->global_outline(w.id, op.index, n, (high >> 7) - (low >> 7) + 1);
    mark(low, n);
    return;
  }
  uint64_t sectors[kLanes];
  const int n = distinct_sectors(address, mask, sectors);
  if (!counted) c.global_sectors += static_cast<uint64_t>(n);
  uint64_t lines = 0;
  for (int i = 0; i < n; ++i) {
    lines += i == 0 || sectors[i] >> 2 != sectors[i - 1] >> 2;
    mark(sectors[i] << 5, 1);
  }
  if (outline != nullptr) outline->global_outline(w.id, op.index, static_cast<uint64_t>(n), lines);
}

void mark_global_written(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                         const Shape& shape) {
  Allocation* recent = w.block->worker->recent[op.index & 63];
  auto mark = [](Allocation& a, uint64_t from, uint64_t n) {
    uint64_t at = from - a.base;
    const uint64_t end = at + n;
    while (at < end) {
      const uint32_t bit = at & 63;
      const uint64_t here = std::min<uint64_t>(64 - bit, end - at);
      const uint64_t bits = (here == 64 ? ~0ull : (1ull << here) - 1) << bit;
      // Other CPU threads mark their own bytes of the same word.
      uint64_t* word = &a.written[at / 64];
      if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bits) != bits)
        __atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
      at += here;
    }
  };
  if (mask == 0) return;
  if (recent && recent->all_written && address[shape.first] >= recent->base &&
      address[shape.first] < recent->end() && (shape.contiguous || shape.uniform))
    return;
  if ((shape.contiguous || shape.uniform) && std::popcount(mask) == shape.count && recent &&
      address[shape.first] >= recent->base && address[shape.first] < recent->end()) {
    mark(*recent, address[shape.first], shape.uniform ? bytes : static_cast<uint64_t>(shape.count) * bytes);
    return;
  }
  for (Mask m = mask; m != 0; m &= m - 1) {
    const uint64_t a = address[first_lane(m)];
    if (!recent || a < recent->base || a >= recent->end()) recent = w.block->launch->env.memory.find(a);
    if (recent && !recent->all_written) mark(*recent, a, bytes);
  }
}

Mask check_shared_bounds(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                         const Shape& shape, Direction direction) {
  Block& b = *w.block;
  const std::vector<SharedRegion>& regions = b.launch->shared_regions;
  uint32_t low = address[shape.first], last = low, bits = low;
  if (shape.contiguous) {
    last = low + static_cast<uint32_t>(shape.count - 1) * bytes;
  } else if (!shape.uniform) {
    const uint32_t base = low;
    for (int i = 0; i < kLanes; ++i) {
      const uint32_t at = address[i], a = ops::lane_is_on<uint32_t>(mask, i) ? at : base;
      low = std::min(low, a);
      last = std::max(last, a);
      bits |= a;
    }
  }
  if (bits % bytes == 0 && last >= low)
    for (const SharedRegion& r : regions)
      if (low >= r.begin && uint64_t{last} + bytes <= r.end) return mask;
  Mask good = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint64_t a = address[lane];
    bool inside = false;
    for (const SharedRegion& r : regions) inside |= a >= r.begin && a + bytes <= r.end;
    if (inside && a % bytes == 0) {
      good |= 1u << lane;
      continue;
    }
    if (inside) {
      report_misaligned({w, op, lane, a, bytes, direction}, "shared memory");
      continue;
    }
    const uint64_t window =
        kSharedBegin + b.launch->request.kernel->static_shared + b.launch->request.dynamic_shared;
    if (a > window + (64u << 10)) set_launch_error(b, cuda::kIllegalAddress);
    if (b.options->check_memory) checks::out_of_shared({w, op, lane, a, bytes, direction});
  }
  return good;
}

namespace {

// How an instruction's lanes lay to each other when it last ran, and the wavefronts that came of it. Banks
// and words that lanes share do not change when all addresses move by the same number of words, so most
// instructions are looked at once. Each CPU thread has its own.
struct KnownWavefronts {
  Mask mask = 0;
  uint32_t bytes = 0, base = 0;
  bool pairs = false;
  uint32_t distance[kLanes] = {};  // from the first lane
  Wavefronts n;
};
constexpr size_t kKnownWavefronts = 256;
constexpr int kFewLanes = 8;  // as many are counted as fast as they are compared
thread_local KnownWavefronts known_wavefronts[kKnownWavefronts];

// The lanes in `mask` are aligned to `bytes`.
Wavefronts wavefronts_of(const Op& op, const uint32_t* address, uint32_t bytes, Mask mask, bool pairs) {
  if (!kShortcuts || std::popcount(mask) <= kFewLanes) return shared_wavefronts(address, bytes, mask, pairs);
  KnownWavefronts& known =
      known_wavefronts[(op.index + static_cast<uint32_t>(std::popcount(mask)) * 41) % kKnownWavefronts];
  const uint32_t base = address[first_lane(mask)];
  if (known.mask == mask && known.bytes == bytes && known.pairs == pairs && (base - known.base) % 4 == 0) {
    uint32_t other = 0;
    if (mask == kAllLanes)
      for (int i = 0; i < kLanes; ++i) other |= (address[i] - base) ^ known.distance[i];
    else
      for (int i = 0; i < kLanes; ++i)
        other |= ((address[i] - base) ^ known.distance[i]) & (ops::lane_is_on<uint32_t>(mask, i) ? ~0u : 0u);
    if (other == 0) return known.n;
  }
  known.mask = mask;
  known.bytes = bytes;
  known.base = base;
  known.pairs = pairs;
  for (int i = 0; i < kLanes; ++i) known.distance[i] = address[i] - base;
  known.n = shared_wavefronts(address, bytes, mask, pairs);
  return known.n;
}

}  // namespace

void count_shared(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                  const Shape& shape, Direction direction) {
  if (!w.block->options->counters || mask == 0) return;
  OpCounts& c = w.block->worker->ops[op.index];
  // Most of a long block comes after the end of its trace.
  BlockTrace* trace = w.block->trace;
  if (trace != nullptr && trace->warps[w.id].cut) trace = nullptr;
  ++c.shared_requests;
  if (bytes <= 4 && (shape.contiguous || shape.uniform) && direction != Direction::kAtomic) {
    ++c.shared_wavefronts;
    if (trace != nullptr) trace->shared(w.id, op.index, address, mask, 1);
    return;
  }
  const auto served_as = [&] {
    const bool answers = op.atomic.shared == SharedAtomic::kCountUp && !(op.flags & kResultUnused);
    return answers ? SharedAtomic::kPlain : op.atomic.shared;
  };
  const Wavefronts n = direction == Direction::kAtomic
                           ? shared_atomic_wavefronts(address, bytes, mask, served_as())
                           : wavefronts_of(op, address, bytes, mask, direction == Direction::kLoad);
  c.shared_wavefronts += static_cast<uint64_t>(n.total);
  c.shared_conflicts += static_cast<uint64_t>(n.total - n.ideal);
  if (trace != nullptr) trace->shared(w.id, op.index, address, mask, n.total);
}

Mask check_local(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask,
                 Direction direction) {
  Block& b = *w.block;
  const Frame& frame = *w.splits[static_cast<size_t>(w.current)].frame;
  const uint32_t limit = frame.local_base + frame.code->local_bytes;
  std::vector<uint32_t>& seen = b.local_written[w.id];
  Mask good = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint64_t a = address[lane];
    if (a % bytes != 0) {
      report_misaligned({w, op, lane, a, bytes, direction}, "local memory");
      continue;
    }
    if (a < kLocalBegin || a + bytes > limit) {
      if (b.options->check_memory) checks::out_of_local({w, op, lane, a, bytes, direction}, limit);
      continue;
    }
    if (direction == Direction::kLoad && b.options->check_init) {
      const Origin origin{Mistake::kUnwrittenLocal, op.index, b.thread_of(w, lane), a};
      const auto& moved = b.undefined.local;
      for (uint32_t i = 0; i < bytes; ++i) {
        if (!(seen[a + i] >> lane & 1))
          note_unwritten(w, op, lane, origin, i, 1);
        else if (!moved.empty())
          if (const auto at = moved.find(local_key(w, lane, address[lane] + i)); at != moved.end())
            b.undefined.loaded.push_back({lane, i, at->second});
      }
    } else if (direction != Direction::kLoad) {
      for (uint32_t i = 0; i < bytes; ++i) seen[a + i] |= 1u << lane;
      if (!b.undefined.local.empty())
        for (uint32_t i = 0; i < bytes; ++i) b.undefined.local.erase(local_key(w, lane, address[lane] + i));
    }
    good |= 1u << lane;
  }
  if (b.options->counters && good) {
    OpCounts& c = b.worker->ops[op.index];
    uint64_t at[kLanes], sectors[kLanes];
    const uint64_t sectors_before = c.local_sectors;
    c.local_requests += std::max(1u, bytes / 4);  // one for each word of a lane
    for (uint32_t word = 0; word < std::max(1u, bytes / 4); ++word) {
      for (int i = 0; i < kLanes; ++i)
        at[i] = (static_cast<uint64_t>(address[i]) / 4 + word) * (4 * kLanes) + static_cast<uint64_t>(i) * 4;
      c.local_sectors += static_cast<uint64_t>(distinct_sectors(at, good, sectors));
    }
    if (b.trace != nullptr) b.trace->local(w.id, op.index, c.local_sectors - sectors_before);
  }
  return good;
}

void read_local(Warp& w, int lane, uint32_t address, uint32_t bytes, uint8_t* to) {
  for (uint32_t i = 0; i < bytes;) {
    const uint32_t n = std::min(bytes - i, 4 - (address + i) % 4);
    std::memcpy(to + i, local_word(w, lane, address + i), n);
    i += n;
  }
}

void write_local(Warp& w, int lane, uint32_t address, uint32_t bytes, const uint8_t* from) {
  for (uint32_t i = 0; i < bytes;) {
    const uint32_t n = std::min(bytes - i, 4 - (address + i) % 4);
    std::memcpy(local_word(w, lane, address + i), from + i, n);
    i += n;
  }
}

std::string read_device_string(const Block& b, uint64_t address, size_t most) {
  const Allocation* a = b.launch->env.memory.find(address);
  if (!a) return "";
  const char* text = reinterpret_cast<const char*>(DeviceMemory::host(address));
  std::string out(text, strnlen(text, std::min<uint64_t>(most, a->end() - address)));
  if (b.worker->touched) b.worker->touched->note(Touch::kRead, address, out.size() + 1);
  return out;
}

}  // namespace vgpu
