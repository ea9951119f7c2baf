#include "exec/block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cost/sample.h"
#include "exec/bulk_ops.h"
#include "exec/scheduler.h"
#include "exec/standstill.h"
#include "exec/wgmma.h"

namespace vgpu {

Block::Block(Worker& owner) : worker(&owner), launch(&owner.launch), options(&owner.launch.env.options) {
  watch_shared = options->check_race || options->check_init || options->check_async;
  const uint32_t n = launch->warps;
  warps.resize(n);
  local.resize(n, nullptr);
  local_size.resize(n, 0);
  local_written.resize(n);
  shared.resize(launch->shared_bytes);
  shadow.resize(launch->shared_bytes);
  for (uint32_t i = 0; i < n; ++i) {
    warps[i].id = i;
    warps[i].block = this;
    warps[i].async = new AsyncCopies;
  }
}

Block::~Block() {
  for (Warp& w : warps) {
    for (Frame* f : w.frames) {
      std::free(f->regs);
      delete f;
    }
    delete w.async;
  }
  for (uint8_t* p : local) std::free(p);
}

void Block::start(uint64_t number) {
  linear = number;
  trace = launch->sample != nullptr ? &launch->sample->started(number) : nullptr;
  const Dim3& g = launch->request.grid;
  index = {static_cast<uint32_t>(number % g.x), static_cast<uint32_t>(number / g.x % g.y),
           static_cast<uint32_t>(number / (static_cast<uint64_t>(g.x) * g.y))};
  ++tick;
  start_tick = full_tick = tick;
  std::memset(known, 0, sizeof known);
  released.clear();
  for (Barrier& b : barriers) b = Barrier{};
  exited_threads = 0;
  instructions = looked = 0;
  changes = 0;
  is_abandoned = false;
  occurrences = 0;
  printf_text.clear();
  printf_cut = false;
  undefined.clear();
  // What a fresh block finds in shared memory is arbitrary, but the same on every run.
  std::fill(shared.begin(), shared.end(), uint8_t{0xcd});
  if (pending_async != 0) std::fill(shadow.in_flight.begin(), shadow.in_flight.end(), 0u);
  pending_async = 0;
  if (unit) unit->start_block();
  alone.reset();
  for (Warp& w : warps) {
    const uint32_t first = w.id * kLanes;
    const uint32_t n = std::min<uint32_t>(kLanes, launch->threads - first);
    w.exists = n == kLanes ? kAllLanes : (1u << n) - 1;
    w.exited = 0;
    w.sync_tick = start_tick;
    w.lanes_met_apart = false;
    w.instructions = w.clock_reads = 0;
    w.polls = 0;
    w.yields = 0;
    w.splits.clear();
    w.joins.clear();
    w.ready = 0;
    w.current = -1;
    w.async->start_block();
    if (w.undefined.any()) w.undefined.values.clear();
    for (Frame* f : w.frames) f->lanes = 0;
    add_split(w, w.exists, 0, enter_frame(w, *launch->entry, nullptr, nullptr, w.exists), -1);
  }
}

void Block::end() {
  check_async_end(*this);
  check_products_end(*this);
  if (!printf_text.empty() || printf_cut)
    launch->printed.add(linear, std::move(printf_text), printf_cut, launch->env.printf_limit);
  printf_text.clear();
  printf_cut = false;
  if (trace != nullptr) launch->sample->ended(*trace, linear);
  trace = nullptr;
}

bool Block::out_of_time() {
  if (!launch->out_of_time || !launch->out_of_time()) return false;
  if (!must_stop()) report_hang(*this, HangReason::kCpuTime);
  return true;
}

Block::Outcome Block::run(bool may_yield) {
  // Blocks may be so short that at the end of a round no warp is left to report.
  if (++runs % 64 == 0 && out_of_time()) return Outcome::kStopped;
  Standstill standstill;
  Block* const self = this;
  while (true) {
    const uint64_t changes_before = changes;
    bool ran = false, waits = false, works = false, alive = false;
    for (Warp& w : warps) {
      if (w.live() == 0) continue;
      alive = true;
      if (w.ready == 0) {
        // Lanes that wait for others which skipped the call: no other warp can help them.
        bool stuck = false;
        for (const Split& s : w.splits)
          stuck |=
              s.state == SplitState::kAtWarpSync && (s.key & w.live() & ~s.mask & ~waiting_at_joins(w)) == 0;
        if (!stuck || !settle_warp_sync(w, true)) continue;
      }
      ran = true;
      switch (run_warp(w)) {
        case Ran::kStopped:
          return Outcome::kStopped;
        case Ran::kPolls:
          waits = true;
          break;
        case Ran::kSliced:
          // So many instructions may have taken seconds, where each has something to report.
          if (out_of_time()) return Outcome::kStopped;
          works = true;
          break;
        default:
          break;
      }
    }
    if (!alive) return Outcome::kDone;
    // Reading the clock costs as much as a short round.
    if (++rounds % 64 == 0 && out_of_time()) return Outcome::kStopped;
    if (ran) {
      if ((waits || works) && may_yield) return works ? Outcome::kWorking : Outcome::kYielded;
      const bool only_polls = waits && !works && changes == changes_before;
      if (!standstill.after_round(!only_polls, {&self, 1})) continue;
      if (give_up_product_waits(*this)) continue;
      report_hang(*this, HangReason::kThreadsPoll);
      return Outcome::kStopped;
    }
    // Nobody can run: let lanes at joins go first, then do without absent lanes, then give up.
    bool moved = false;
    for (Warp& w : warps) moved |= release_joins(w);
    for (Warp& w : warps)
      if (!moved) moved = settle_warp_sync(w, true);
    if (moved) continue;
    if (may_yield && waits_for_cluster(*this)) return Outcome::kYielded;
    if (give_up_product_waits(*this)) continue;
    report_deadlock(*this);
    return Outcome::kStopped;
  }
}

}  // namespace vgpu
