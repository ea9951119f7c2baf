#include "exec/async_unit.h"

#include <algorithm>
#include <cstring>

#include "checks/async_findings.h"
#include "checks/report.h"
#include "checks/shared_check.h"
#include "exec/block.h"
#include "exec/bulk_reduce.h"
#include "exec/memory_ops.h"

namespace vgpu {

namespace {

void raise(uint32_t& to, uint32_t value) {
  if (to < value) to = value;
}

void raise(BlockTicks& to, const BlockTicks& values) {
  for (size_t rank = 0; rank < to.size(); ++rank) raise(to[rank], values[rank]);
}

template <class F>
void for_each_word(const std::vector<BulkPart>& parts, F f) {
  for (const BulkPart& p : parts)
    for (uint32_t word = p.shared / 4; word < (p.shared + p.bytes + 3) / 4; ++word) f(word);
}

void put_pattern(uint8_t* to, uint32_t bytes, uint32_t pattern) {
  if (pattern == 0) {
    std::memset(to, 0, bytes);
    return;
  }
  for (uint32_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(pattern >> (8 * (i % 4)));
}

// To the nearest number with 10 bits after the point, halfway to the even one; subnormal numbers stay so, and
// every NaN becomes one.
void round_to_tf32(uint8_t* at, uint32_t bytes) {
  constexpr uint32_t kDropped = 13, kNan = 0x7fffe000, kInfinity = 0x7f800000, kMagnitude = 0x7fffffff;
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t value;
    std::memcpy(&value, at + i, 4);
    const uint32_t half = (1u << (kDropped - 1)) - 1 + (value >> kDropped & 1);
    const uint32_t rounded = (value + half) >> kDropped << kDropped;
    value = (value & kMagnitude) > kInfinity ? kNan : rounded;
    std::memcpy(at + i, &value, 4);
  }
}

// Bytes that nothing had written stay undefined where they are copied to.
void carry_undefined(Block& b, const BulkLoad& load, const BulkPart& part) {
  if (!b.undefined.shared.empty())
    for (uint32_t i = 0; i < part.bytes; ++i) b.undefined.shared.erase(part.shared + i);
  if (part.global == 0 || !b.options->check_init) return;
  const DeviceMemory& memory = b.launch->env.memory;
  const Allocation* from = memory.find(part.global);
  if (from == nullptr || from->all_written || memory.is_written(*from, part.global, part.bytes)) return;
  const uint32_t origin =
      b.undefined.add({Mistake::kUnwrittenGlobal, load.op, load.thread, part.global, from});
  for (uint32_t i = 0; i < part.bytes; ++i)
    if (!memory.is_written(*from, part.global + i, 1))
      b.undefined.shared[part.shared + i] = {origin, 0xff, false};
}

void arrive_in_shared(Block& b, const BulkLoad& load) {
  SharedShadow& sh = b.shadow;
  const uint32_t who = make_who(load.thread, load.op, false);
  uint64_t at = 0;
  for (const BulkPart& p : load.parts) {
    uint8_t* to = b.shared.data() + p.shared;
    if (load.reduction != BulkReduction::kNone)
      reduce_bytes(load.reduction, load.type, to, load.data.data() + at, p.bytes);
    else if (!load.data.empty())
      std::memcpy(to, load.data.data() + at, p.bytes);
    else if (p.global != 0)
      std::memcpy(to, DeviceMemory::host(p.global), p.bytes);
    else
      put_pattern(to, p.bytes, load.fill);
    if (load.to_tf32 && p.global != 0) round_to_tf32(to, p.bytes);
    at += p.bytes;
    carry_undefined(b, load, p);
    std::vector<uint8_t>& layout = b.unit->layout;
    for (uint32_t i = p.shared / 16; i * 16 < p.shared + p.bytes && i < layout.size(); ++i)
      layout[i] = load.layout;
  }
  for_each_word(load.parts, [&](uint32_t word) {
    b.pending_async -= sh.in_flight[word] != 0;
    sh.in_flight[word] = 0;
    sh.words.write_tick[word] = b.tick;
    sh.words.write_who[word] = who;
    sh.split[word] = 0;
  });
}

}  // namespace

void OrderClock::join(const OrderClock& other) {
  for (size_t s = 0; s < kLanes; ++s) {
    raise(known[s], other.known[s]);
    for (size_t space = 0; space < kProxiedSpaces; ++space) raise(proxied[space][s], other.proxied[space][s]);
  }
  raise(blocks, other.blocks);
  for (const auto& [thread, tick] : other.threads) note_thread(thread, tick);
}

AsyncUnit::AsyncUnit(Block& b) : block(b) {
  start_block();
}

void AsyncUnit::start_block() {
  const uint32_t count = block.launch->warps * kLanes;
  barriers.clear();
  loads.clear();
  arrivals.clear();
  reads.clear();
  writes.clear();
  committed.assign(count, 0);
  for (auto& each : fenced) each.assign(count, 0);
  for (auto& each : proxied_threads) each.clear();
  fences_global = false;
  cluster_round.assign(count, 0);
  released_to_cluster = 0;
  read_counts.assign(block.shadow.in_flight.size(), 0);
  layout.assign(block.shared.size() / 16 + 1, 0);
  for (Products& p : products) p = Products{};
  open_products.clear();
  products_over.clear();
  product_waits = 0;
  std::memset(proxied, 0, sizeof proxied);
  for (BlockTicks& ticks : blocks) ticks.fill(0);
  for (auto& row : threads) row.clear();
  for (MbarrierWait& w : waits) w = MbarrierWait{};
}

void AsyncUnit::meet(uint32_t warps, bool everyone) {
  if (everyone) warps = ~0u;
  uint32_t joint[kProxiedSpaces][kLanes] = {};
  std::unordered_map<uint32_t, uint32_t> seen;
  BlockTicks others{};
  for (uint32_t m = warps; m != 0; m &= m - 1) {
    const size_t w = static_cast<size_t>(std::countr_zero(m));
    raise(others, blocks[w]);
    for (size_t space = 0; space < spaces(); ++space)
      for (size_t s = 0; s < kLanes; ++s) raise(joint[space][s], proxied[space][w][s]);
    if (!everyone)
      for (const auto& [thread, tick] : threads[w]) raise(seen[thread], tick);
  }
  for (uint32_t m = warps; m != 0; m &= m - 1) {
    const size_t w = static_cast<size_t>(std::countr_zero(m));
    for (size_t space = 0; space < spaces(); ++space)
      std::copy(joint[space], joint[space] + kLanes, proxied[space][w]);
    threads[w] = seen;
    blocks[w] = others;
  }
}

bool AsyncUnit::is_proxied(const Warp& w, int lane, uint32_t tick, uint32_t thread, Proxied space) const {
  const size_t i = static_cast<size_t>(space);
  if (tick <= proxied[i][w.id][thread / kLanes]) return true;
  const uint32_t fence = fenced[i][thread];
  if (fence >= tick && is_ordered(block, w, lane, fence, thread)) return true;
  const auto seen = proxied_threads[i].find(thread);
  return seen != proxied_threads[i].end() && tick <= seen->second;
}

AsyncUnit& async_unit(Block& b) {
  if (!b.unit) b.unit = std::make_unique<AsyncUnit>(b);
  return *b.unit;
}

void release_to(Warp& w, Mask lanes, OrderClock& clock) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  for (size_t s = 0; s < kLanes; ++s) {
    raise(clock.known[s], b.known[w.id][s]);
    for (size_t space = 0; space < unit.spaces(); ++space)
      raise(clock.proxied[space][s], unit.proxied[space][w.id][s]);
  }
  if (b.cluster != nullptr) raise(clock.blocks, unit.blocks[w.id]);
  for (const auto& [thread, tick] : unit.threads[w.id])
    if (tick >= b.full_tick) clock.note_thread(thread, tick);
  if (lanes == w.live()) {
    raise(clock.known[w.id], b.tick);
  } else {
    // Of the other lanes, a lane knows what they did before they last met.
    raise(clock.known[w.id], w.sync_tick - 1);
    for (Mask m = lanes; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      clock.note_thread(b.thread_of(w, lane), b.tick);
      if (!w.lanes_met_apart) continue;
      for (Mask o = w.met_with[lane] & ~lanes; o != 0; o &= o - 1)
        clock.note_thread(b.thread_of(w, first_lane(o)), w.met[lane] - 1);
    }
  }
  ++b.tick;
}

void acquire_from(Warp& w, const OrderClock& clock) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  for (size_t s = 0; s < kLanes; ++s) {
    raise(b.known[w.id][s], clock.known[s]);
    for (size_t space = 0; space < unit.spaces(); ++space)
      raise(unit.proxied[space][w.id][s], clock.proxied[space][s]);
  }
  if (b.cluster != nullptr) raise(unit.blocks[w.id], clock.blocks);
  for (const auto& [thread, tick] : clock.threads)
    if (tick >= b.full_tick) raise(unit.threads[w.id][thread], tick);
}

Mbarrier* find_mbarrier(Warp& w, const Op& op, int lane, uint32_t address) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  const auto found = unit.barriers.find(address);
  if (found == unit.barriers.end()) {
    if (b.options->check_sync) checks::no_mbarrier(w, op, lane, b, address);
    return nullptr;
  }
  Mbarrier& m = found->second;
  if (b.options->check_sync && !is_ordered(b, w, lane, m.init_tick, who_thread(m.init_who)))
    checks::mbarrier_init_unordered(w, op, lane, address, m);
  return &m;
}

void settle_mbarrier(Block& b, Mbarrier& m) {
  if (m.pending != 0 || m.bytes != 0) return;
  ++m.phase;
  m.pending = m.count;
  m.expected_bytes = 0;
  m.completed.join(m.arriving);
  m.arriving = OrderClock{};
  ++b.changes;
}

void complete_bytes(Block& b, const BulkLoad& load) {
  AsyncUnit& unit = async_unit(b);
  const auto found = unit.barriers.find(load.barrier);
  if (found == unit.barriers.end()) return;
  Mbarrier& m = found->second;
  m.arriving.note_thread(load.thread, b.tick);
  raise(m.arriving.blocks, load.known);
  m.bytes -= static_cast<int64_t>(load.bytes);
  ++b.tick;
  ++b.changes;
  settle_mbarrier(b, m);
}

namespace {

void bring_in_arrivals(Block& b, uint32_t barrier) {
  AsyncUnit& unit = async_unit(b);
  for (size_t i = 0; i < unit.arrivals.size();) {
    const CopyArrival a = unit.arrivals[i];
    if (a.barrier != barrier) {
      ++i;
      continue;
    }
    unit.arrivals.erase(unit.arrivals.begin() + static_cast<std::ptrdiff_t>(i));
    Warp& w = b.warps[a.warp];
    complete_copies(w, a.lane, a.tick);
    const auto found = unit.barriers.find(barrier);
    if (found == unit.barriers.end()) continue;
    Mbarrier& m = found->second;
    m.arriving.note_thread(b.thread_of(w, a.lane), b.tick);
    m.uncounted = true;
    ++b.tick;
    if (m.pending > 0) --m.pending;
    ++b.changes;
    settle_mbarrier(b, m);
  }
}

void bring_in_loads(Block& b, uint32_t barrier) {
  AsyncUnit& unit = async_unit(b);
  for (size_t i = 0; i < unit.loads.size();) {
    if (unit.loads[i].barrier != barrier) {
      ++i;
      continue;
    }
    const BulkLoad load = std::move(unit.loads[i]);
    unit.loads.erase(unit.loads.begin() + static_cast<std::ptrdiff_t>(i));
    arrive_in_shared(b, load);
    complete_bytes(b, load);
  }
}

// Whether what is under way ends the phase.
bool loads_end_phase(const AsyncUnit& unit, uint32_t barrier) {
  const auto found = unit.barriers.find(barrier);
  if (found == unit.barriers.end() || found->second.pending != 0) return false;
  int64_t bytes = found->second.bytes;
  for (const BulkLoad& load : unit.loads)
    if (load.barrier == barrier) bytes -= static_cast<int64_t>(load.bytes);
  return bytes <= 0;
}

}  // namespace

void bring_in(Block& b, uint32_t barrier) {
  bring_in_arrivals(b, barrier);
  if (b.cluster == nullptr || loads_end_phase(*b.unit, barrier)) bring_in_loads(b, barrier);
}

void bring_in_rest(Block& b) {
  if (!b.unit) return;
  for (const MbarrierWait& wait : b.unit->waits)
    if (wait.failed) bring_in_loads(b, wait.barrier);
}

void mark_load(Block& b, const BulkLoad& load) {
  const uint32_t who = make_who(load.thread, load.op, true);
  for_each_word(load.parts, [&](uint32_t word) {
    b.pending_async += b.shadow.in_flight[word] == 0;
    b.shadow.in_flight[word] = who;
  });
}

void mark_read(Block& b, const AsyncRead& read) {
  const uint32_t who = make_who(read.thread, read.op, false);
  AsyncUnit& unit = async_unit(b);
  for_each_word(read.parts, [&](uint32_t word) {
    ++unit.read_counts[word];
    uint32_t& mark = b.shadow.in_flight[word];
    if (mark & kWhoAtomic) return;  // a load into it, which is reported elsewhere
    b.pending_async += mark == 0;
    mark = who;
  });
}

void finish_reads(Block& b, const std::vector<bool>& done) {
  AsyncUnit& unit = async_unit(b);
  std::vector<AsyncRead> left;
  for (size_t i = 0; i < unit.reads.size(); ++i) {
    AsyncRead& read = unit.reads[i];
    if (!done[i]) {
      left.push_back(std::move(read));
      continue;
    }
    const uint32_t who = make_who(read.thread, read.op, false);
    for_each_word(read.parts, [&](uint32_t word) {
      uint32_t& mark = b.shadow.in_flight[word];
      if (--unit.read_counts[word] == 0 && mark != 0 && !(mark & kWhoAtomic)) {
        mark = 0;
        --b.pending_async;
      }
      // To others it is a read by this thread, until now.
      StampArrays& s = b.shadow.words;
      const bool second = s.read_tick[word] >= b.full_tick && who_thread(s.read_who[word]) != read.thread;
      (second ? s.read2_tick : s.read_tick)[word] = b.tick;
      (second ? s.read2_who : s.read_who)[word] = who;
    });
  }
  unit.reads = std::move(left);
}

}  // namespace vgpu
