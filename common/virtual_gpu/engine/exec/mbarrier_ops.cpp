// mbarrier.*: init, arrivals, expected bytes, waits. Lanes act one after the other, the lowest first.
#include "exec/mbarrier_ops.h"

#include <cstring>

#include "checks/async_findings.h"
#include "checks/report.h"
#include "checks/shared_check.h"
#include "cost/trace.h"
#include "exec/access.h"
#include "exec/async_detail.h"
#include "exec/cluster.h"

namespace vgpu {

namespace {

constexpr uint32_t kBarrierBytes = 8;
constexpr uint32_t kMostArrivals = (1u << 20) - 1;
constexpr uint32_t kPollsOfAWait = 32;

// The lanes whose barrier lies in the block's own shared memory, and where.
Mask own_addresses(Warp& w, const Op& op, uint32_t* address, Direction direction) {
  for (int lane = 0; lane < kLanes; ++lane)
    address[lane] = w.exec >> lane & 1 ? place_value32(w, op, op.mbarrier->address, lane) : 0;
  const Shape shape = shape_of(address, w.exec, kBarrierBytes);
  return check_shared_bounds(w, op, address, kBarrierBytes, w.exec, shape, direction);
}

uint64_t token(const Mbarrier& m) {
  return uint64_t{m.phase} << 32 | m.pending;
}

void write_barrier(Warp& w, const Op& op, const uint32_t* address, Mask lanes) {
  Block& b = *w.block;
  const Shape shape = shape_of(address, lanes, kBarrierBytes);
  if (b.watch_shared) check_shared(w, op, address, kBarrierBytes, lanes, shape, SharedUse::kWrite, false);
  if (!b.undefined.shared.empty()) forget_shared(b, address, kBarrierBytes, lanes);
}

void start_barrier(Warp& w, const Op& op, int lane, uint32_t address) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  const uint32_t count = place_value32(w, op, op.mbarrier->value, lane);
  if ((count == 0 || count > kMostArrivals) && b.options->check_sync)
    checks::mbarrier_count(w, op, lane, address, count);
  if (const auto old = unit.barriers.find(address); old != unit.barriers.end() && b.options->check_sync) {
    const Mbarrier& m = old->second;
    if (m.pending != m.count || m.bytes != 0) checks::mbarrier_in_use(w, op, lane, address, m, true);
  }
  Mbarrier& m = unit.barriers[address];
  m = Mbarrier{};
  m.count = m.pending = count;
  m.init_tick = b.tick;
  m.init_who = make_who(b.thread_of(w, lane), op.index, false);
  if (b.trace != nullptr) b.trace->new_mbarrier(address);
  const uint64_t bits = token(m);
  std::memcpy(b.shared.data() + address, &bits, sizeof bits);
}

void end_barrier(Warp& w, const Op& op, int lane, uint32_t address) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  Mbarrier* m = find_mbarrier(w, op, lane, address);
  if (m == nullptr) return;
  bool awaited = false;
  for (const MbarrierWait& wait : unit.waits)
    awaited |= wait.failed && wait.barrier == address && wait.op != ~0u;
  for (const BulkLoad& load : unit.loads) awaited |= load.barrier == address;
  if ((awaited || m->pending != m->count || m->bytes != 0) && b.options->check_sync)
    checks::mbarrier_in_use(w, op, lane, address, *m, false);
  unit.barriers.erase(address);
}

void note_arrival(Warp& w, int lane, const Block& at, Mbarrier& m, bool is_special) {
  const Block& b = *w.block;
  if (&at != &b || is_special) {
    m.uncounted = true;
    return;
  }
  if (m.arrivals.empty()) m.arrivals.assign(b.launch->warps * kLanes, 0);
  ++m.arrivals[b.thread_of(w, lane)];
  m.last_arrival[w.id] = b.tick;
}

// `m` belongs to `at`, the block of this warp or another one of its cluster.
void arrive(Warp& w, const Op& op, int lane, Block& at, uint32_t address, Mbarrier& m) {
  const MbarrierDetail& d = *op.mbarrier;
  const bool checks_on = w.block->options->check_sync;
  uint32_t count = 1;
  if (d.expects) {
    const uint32_t bytes = place_value32(w, op, d.value, lane);
    m.bytes += bytes;
    m.expected_bytes += bytes;
    m.expect_op = op.index;
  } else if (d.value.at >= 0) {
    count = place_value32(w, op, d.value, lane);
  }
  if (count > m.pending) {
    if (checks_on) checks::too_many_arrivals(w, op, lane, address, m, count);
    count = m.pending;
  }
  note_arrival(w, lane, at, m, count != 1 || d.drops);
  m.last_arrive_op = op.index;
  m.arrival_who = make_who(w.block->thread_of(w, lane), op.index, false);
  m.arrival_phase = m.phase;
  if (d.no_complete && count == m.pending && checks_on)
    checks::no_complete_completes(w, op, lane, address, m);
  m.pending -= count;
  if (d.drops && m.count > 0) --m.count;
  ++at.changes;
  settle_mbarrier(at, m);
}

bool is_over(const Mbarrier& m, bool by_parity, uint64_t wanted) {
  if (by_parity) return (m.phase & 1) != (wanted & 1);
  return static_cast<uint32_t>(wanted >> 32) != m.phase;
}

// For the cost model: which phase a wait that is over has waited for. Before the first is complete, a wait
// for the parity of the one before waits for none.
void note_wait(Warp& w, const Op& op, uint32_t address, const Mbarrier& m, uint64_t wanted) {
  BlockTrace& trace = *w.block->trace;
  const bool for_none = op.mbarrier->by_parity && m.phase == 0;
  const uint32_t phase = op.mbarrier->by_parity ? m.phase - 1 : static_cast<uint32_t>(wanted >> 32);
  trace.waited(w.id, op.index, for_none ? 0 : trace.mbarrier(address), for_none ? 0 : phase);
}

void note_failed_wait(Warp& w) {
  const Split& split = w.splits[static_cast<size_t>(w.current)];
  const Code& code = *split.frame->code;
  const BasicBlock& bb = code.blocks[split.block];
  w.block->trace->failed_wait(w.id, code.first_block + split.block, bb.end - bb.begin);
}

}  // namespace

void mbarrier_init(Warp& w, const Op& op) {
  uint32_t address[kLanes];
  const Mask good = own_addresses(w, op, address, Direction::kStore);
  if (good == 0) return;
  write_barrier(w, op, address, good);
  for (Mask m = good; m != 0; m &= m - 1) start_barrier(w, op, first_lane(m), address[first_lane(m)]);
  ++w.block->changes;
}

// The thread's own initialisations go with whatever it arrives at next, though that releases nothing.
void mbarrier_init_fence(Warp& w, const Op&) {
  Block& b = *w.block;
  for (auto& [address, m] : async_unit(b).barriers) {
    const uint32_t thread = who_thread(m.init_who);
    if (thread / kLanes == w.id && (w.exec >> thread % kLanes & 1)) m.init_fenced = true;
  }
}

void mbarrier_inval(Warp& w, const Op& op) {
  uint32_t address[kLanes];
  const Mask good = own_addresses(w, op, address, Direction::kStore);
  if (good == 0) return;
  for (Mask m = good; m != 0; m &= m - 1) end_barrier(w, op, first_lane(m), address[first_lane(m)]);
  write_barrier(w, op, address, good);
}

void mbarrier_bytes(Warp& w, const Op& op) {
  const MbarrierDetail& d = *op.mbarrier;
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const Remote at = resolve_shared(w, op, lane, place_value32(w, op, d.address, lane), kBarrierBytes);
    if (at.block == nullptr) continue;
    Mbarrier* bar = at.block == w.block ? find_mbarrier(w, op, lane, at.address)
                                        : remote_mbarrier(w, op, lane, *at.block, at.address);
    if (bar == nullptr) continue;
    const int64_t bytes = place_value32(w, op, d.value, lane);
    if (d.what == MbarrierOp::kExpect) {
      bar->expected_bytes += bytes;
      bar->expect_op = op.index;
      bar->bytes += bytes;
    } else {
      bar->bytes -= bytes;
    }
    ++at.block->changes;
    if (d.what == MbarrierOp::kComplete) settle_mbarrier(*at.block, *bar);
  }
}

void mbarrier_arrive(Warp& w, const Op& op) {
  const MbarrierDetail& d = *op.mbarrier;
  Block& b = *w.block;
  async_unit(b).waits[w.id].failed = false;  // it has given up waiting
  uint64_t state[kLanes] = {};
  // What the warp knows goes in before the first of its lanes can complete the phase.
  Mask left = w.exec;
  while (left != 0) {
    const int first = first_lane(left);
    const uint32_t where = place_value32(w, op, d.address, first);
    Mask same = 0;
    for (Mask m = left; m != 0; m &= m - 1)
      if (place_value32(w, op, d.address, first_lane(m)) == where) same |= 1u << first_lane(m);
    left &= ~same;
    const Remote at = resolve_shared(w, op, first, where, kBarrierBytes);
    if (at.block == nullptr) continue;
    const bool own = at.block == &b;
    Mbarrier* bar =
        own ? find_mbarrier(w, op, first, at.address) : remote_mbarrier(w, op, first, *at.block, at.address);
    if (bar == nullptr) continue;
    if (own && b.trace != nullptr)
      b.trace->arrives(w.id, op.index, b.trace->mbarrier(at.address), bar->phase);
    if (d.releases) {
      if (own)
        release_to(w, same, bar->arriving);
      else
        release_to_remote(w, same, *at.block, bar->arriving);
    }
    const uint32_t lanes = static_cast<uint32_t>(std::popcount(same));
    if (lanes > bar->pending && bar->pending != 0 && d.value.at < 0 && b.options->check_sync)
      checks::too_many_lanes_arrive(w, op, first, at.address, *bar, lanes);
    for (Mask m = same; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      state[lane] = token(*bar);
      const OrderClock keep = std::popcount(m) > 1 ? bar->arriving : OrderClock{};
      const uint32_t phase = bar->phase;
      arrive(w, op, lane, *at.block, at.address, *bar);
      if (bar->phase == phase || std::popcount(m) == 1) continue;
      bar->arriving = keep;  // for the lanes that follow
      bar->crowd = static_cast<uint32_t>(std::popcount(same));
      bar->crowd_op = op.index;
    }
  }
  if (op.dst != 0) write_lanes<false, uint64_t>(w, op.dst, [&](int i) { return state[i]; });
}

void mbarrier_copy_arrive(Warp& w, const Op& op) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  uint32_t address[kLanes];
  const Mask good = own_addresses(w, op, address, Direction::kStore);
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    Mbarrier* bar = find_mbarrier(w, op, lane, address[lane]);
    if (bar == nullptr) continue;
    if (!op.mbarrier->no_increment) ++bar->pending;
    unit.arrivals.push_back({w.id, b.tick, lane, address[lane], op.index});
  }
  ++b.tick;
  ++b.changes;
}

void mbarrier_wait(Warp& w, const Op& op) {
  Block& b = *w.block;
  const MbarrierDetail& d = *op.mbarrier;
  AsyncUnit& unit = async_unit(b);
  uint32_t address[kLanes];
  const Mask good = own_addresses(w, op, address, Direction::kLoad);
  Mask done = 0, left = good;
  // A thread may ask by test_wait now and then; who asks by try_wait goes on asking until it is true.
  const bool blocks = b.launch->kernel.origins[op.index].opcode.find(".try_wait") != std::string_view::npos;
  while (left != 0) {
    const int first = first_lane(left);
    const uint64_t wanted = place_value(w, op, d.value, first);
    Mask same = 0;
    for (Mask m = left; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      if (address[lane] == address[first] && place_value(w, op, d.value, lane) == wanted) same |= 1u << lane;
    }
    left &= ~same;
    Mbarrier* bar = find_mbarrier(w, op, first, address[first]);
    if (bar == nullptr) {
      done |= same;
      continue;
    }
    MbarrierWait& wait = unit.waits[w.id];
    const MbarrierWait before = wait;
    wait = {op.index,    address[first],
            d.by_parity, static_cast<uint32_t>(d.by_parity ? wanted & 1 : wanted >> 32),
            false,       bar->phase};
    if (!is_over(*bar, d.by_parity, wanted)) {
      bring_in(b, address[first]);
      wait.failed = !is_over(*bar, d.by_parity, wanted);
    }
    const bool again = before.failed && before.barrier == wait.barrier && before.wanted == wait.wanted;
    if (again) wait.phase = before.phase;
    if (again && bar->phase >= wait.phase + 2 && blocks && b.options->check_async)
      checks::missed_phase(w, op, first, address[first], *bar, wait.phase);
    bar->waited_for = true;
    if (wait.failed) continue;
    ++b.worker->ops[op.index].waits;
    done |= same;
    bar->seen[w.id] = bar->phase;
    if (b.trace != nullptr) note_wait(w, op, address[first], *bar, wanted);
    if (d.acquires) acquire_from(w, bar->completed);
  }
  if (done == 0 && b.trace != nullptr) note_failed_wait(w);
  if (done != w.exec) w.polls += kPollsOfAWait;
  write_predicate(w, op.dst, done);
}

void mbarrier_pending_count(Warp& w, const Op& op) {
  const uint64_t* state = lanes_in<uint64_t>(w, op.src[0]);
  write_lanes<false, uint32_t>(w, op.dst, [&](int i) { return static_cast<uint32_t>(state[i]); });
}

void proxy_fence(Warp& w, const Op& op) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  for (const Proxied space : {Proxied::kShared, Proxied::kGlobal}) {
    const size_t i = static_cast<size_t>(space);
    if (!(op.groups >> i & 1)) continue;
    uint32_t* proxied = unit.proxied[i][w.id];
    for (size_t s = 0; s < kLanes; ++s)
      proxied[s] = std::max({proxied[s], b.known[w.id][s], b.full_tick - 1});
    const uint32_t own = w.exec == w.live() ? b.tick : w.sync_tick - 1;
    proxied[w.id] = std::max(proxied[w.id], own);
    for (Mask m = w.exec; m != 0; m &= m - 1) unit.fenced[i][b.thread_of(w, first_lane(m))] = b.tick;
    for (const auto& [thread, tick] : unit.threads[w.id]) {
      uint32_t& until = unit.proxied_threads[i][thread];
      until = std::max(until, tick);
    }
    if (space != Proxied::kGlobal) continue;
    unit.fences_global = true;
    if (b.worker->proxies) b.worker->proxies->async_fence();
  }
  ++b.tick;
}

void map_fence(Warp& w, const Op& op) {
  Block& b = *w.block;
  if (!b.worker->proxies) return;
  if (op.bulk == nullptr) return b.worker->proxies->map_fence(b, MapFence::kRelease, 0);
  uint64_t before = 0;
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const uint64_t address = place_value(w, op, op.bulk->map, first_lane(m));
    if (address != before) b.worker->proxies->map_fence(b, MapFence::kAcquire, address);
    before = address;
  }
}

}  // namespace vgpu
