#include "cost/replay.h"

#include <algorithm>
#include <queue>

#include "cost/replay_state.h"
#include "cost/traffic_share.h"

namespace vgpu {
namespace {

constexpr int kSchedulers = 4;
// How much longer a scheduler takes to issue while its tensor core works for a wgmma, whose sums pass through
// the registers. Fitted on exercise 06, where two and three warpgroups share an SM.
constexpr double kBesideProducts = 5;
constexpr size_t kProductQueue = 6;  // products that a tensor core accepts before it is done with the first
constexpr double kQueueCycles = 48;  // work a memory queue holds before instructions for it must wait
// Measured on an H200, in cycles: docs/cost-model.md, "One SM and its way to memory".
// From a block's end until another takes its place.
constexpr double kBlockTurn = 220;
// What an SM sends to L2, one request after the other: a line, and with a store each sector, more for one of
// which only parts are stored.
constexpr double kSentLine = 0.9, kSentSector = 0.8, kSentPart = 0.2;
// A warp's lines are looked up every second cycle; those of another warp between them.
constexpr double kWarpLine = 2;
// What a warp has asked of DRAM comes one after the other, for each 64 bytes. The latency includes the first.
constexpr double kWarpAccess = 12, kFirstAccesses = 12;

class Sm {
 public:
  explicit Sm(const ReplayRequest& request) : in_(request) {}

  ReplayResult run() {
    const int slots =
        static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(std::max(1, in_.resident)), in_.blocks));
    blocks_.resize(static_cast<size_t>(slots));
    for (int s = 0; s < slots; ++s) start_block(s, 0);
    while (true) {
      while (!queue_.empty()) {
        const Turn turn = queue_.top();
        queue_.pop();
        step(warps_[static_cast<size_t>(turn.warp)], turn);
      }
      if (!release_stuck()) break;
    }
    // What is still on its way to memory belongs to the kernel.
    result_.cycles = std::max({result_.cycles, l2_free_, dram_free_, out_free_});
    return result_;
  }

 private:
  struct Turn {
    double time;
    double since;  // it has wanted to issue this op: who waits longest goes first
    int warp;
    bool operator<(const Turn& other) const {
      if (time != other.time) return time > other.time;
      return since != other.since ? since > other.since : warp > other.warp;
    }
  };

  void start_block(int slot, double now) {
    if (started_ >= in_.blocks) return;
    const BlockTrace& trace = *in_.traces[started_ % in_.traces.size()];
    const int shown = started_ == 0 && in_.timeline != nullptr ? in_.timeline->warps : 0;
    const double free = now > 0 ? now + kBlockTurn : 0;
    const double begin =
        std::max(free, static_cast<double>(started_) * in_.dispatch_cycles) + cycles::kBlockStart;
    ++started_;
    BlockRun& block = blocks_[static_cast<size_t>(slot)];
    block.trace = &trace;
    block.phases.clear();
    block.live = static_cast<int>(trace.warps.size());
    block.waiting = 0;
    block.end = block.release = begin;
    block.trips = 0;
    if (block.warps.size() < trace.warps.size()) {
      for (size_t i = block.warps.size(); i < trace.warps.size(); ++i) {
        block.warps.push_back(static_cast<int>(warps_.size()));
        warps_.emplace_back();
        warps_.back().scheduler = static_cast<int>(next_scheduler_++ % kSchedulers);
      }
    }
    for (size_t i = 0; i < trace.warps.size(); ++i) {
      WarpRun& w = warps_[static_cast<size_t>(block.warps[i])];
      w.trace = &trace.warps[i];
      w.event = 0;
      w.end = static_cast<size_t>(static_cast<double>(w.trace->blocks.size()) * in_.share_of_trace + 0.999);
      w.end = std::min(w.end, w.trace->blocks.size());
      w.rounds = 0;
      w.code = nullptr;
      w.next = w.wanted = begin;
      w.shown = static_cast<int>(i) < shown ? static_cast<int>(i) : -1;
      w.trips = 0;
      w.values.assign(in_.plan->value_count, Arrival{begin, 0});
      w.copies = {};
      w.lines_free = w.dram_free = 0;
      w.groups.clear();
      w.stores = w.products = 0;
      w.store_groups.clear();
      w.product_groups.clear();
      w.slot = slot;
      w.at_barrier = w.asleep = false;
      push(block.warps[i], begin);
    }
  }

  void push(int index, double time) { push(index, time, time); }
  void push(int index, double time, double since) { queue_.push({time, since, index}); }

  // Whether the warp runs the block at `at` so many times before another.
  static bool goes_round(const std::vector<BlockEvent>& events, size_t at, size_t rounds) {
    if (at + rounds > events.size()) return false;
    for (size_t i = 1; i < rounds; ++i)
      if (events[at + i].block != events[at].block) return false;
    return true;
  }

  // How many events from `at` on are the entry's chain; 1 when the warp left it early.
  static size_t chained_events(const KernelPlan::Entry& entry, const std::vector<BlockEvent>& events,
                               size_t at) {
    size_t next = at + 1;
    for (const KernelPlan::Link& link : entry.links) {
      if (next < events.size() && events[next].block == link.block)
        ++next;
      else if (!link.optional)
        return 1;
    }
    return next - at;
  }

  // Whether the part that is replayed ends before the events up to `after`; notes when half of it is done.
  bool is_over(WarpRun& w, size_t after) {
    if (in_.loop_block == ~0u) {
      if (w.event <= w.end / 2 && after > w.end / 2)
        result_.middle_cycles = std::max(result_.middle_cycles, w.next);
      return false;
    }
    for (size_t i = w.event; i < after; ++i) {
      if (w.trace->blocks[i].block != in_.loop_block) continue;
      if (w.rounds == in_.loop_rounds / 2) result_.middle_cycles = std::max(result_.middle_cycles, w.next);
      if (w.rounds++ == in_.loop_rounds) return true;
    }
    return false;
  }

  // The next op to issue, entering basic blocks as they come; null at the end of the trace.
  const PlannedOp* next_op(WarpRun& w) {
    while (w.code == nullptr || w.at >= w.code->ops.size()) {
      if (w.event >= w.end) return nullptr;
      const std::vector<BlockEvent>& events = w.trace->blocks;
      const KernelPlan::Entry& entry = in_.plan->blocks[events[w.event].block];
      size_t taken = 1;
      w.code = &entry.alone;
      if (entry.rounds > 0 && goes_round(events, w.event, entry.rounds))
        w.code = &entry.unrolled, taken = entry.rounds;
      else if (const size_t chained = chained_events(entry, events, w.event); chained > 1)
        w.code = &entry.chain, taken = chained;
      w.memory_begin = events[w.event].memory;
      const size_t after = w.event + taken;
      if (is_over(w, after)) return nullptr;
      const size_t memory_end = after < events.size() ? events[after].memory : w.trace->memory.size();
      w.memory_count = static_cast<uint32_t>(memory_end) - w.memory_begin;
      w.memory_seen = 0;
      if (in_.weights != nullptr)
        for (size_t i = w.event; i < after; ++i) result_.weight.add((*in_.weights)[events[i].block]);
      w.event = after;
      w.at = 0;
    }
    return &w.code->ops[w.at];
  }

  // What the op asked of memory; null when no lane took part.
  const MemoryEvent* event_of(WarpRun& w, const PlannedOp& op) {
    const MemoryEvent* events = w.trace->memory.data() + w.memory_begin;
    if (w.memory_count == w.code->memory_ops) return events + op.ordinal;
    for (uint32_t i = 0; i < w.memory_count; ++i) {
      const uint32_t k = (w.memory_seen + i) % w.memory_count;
      if (events[k].op != op.op) continue;
      w.memory_seen = k;
      return events + k;
    }
    return nullptr;
  }

  Arrival sources(const WarpRun& w, const PlannedOp& op) const {
    Arrival a{0, 0};
    const uint32_t* value = w.code->values.data() + op.values + op.written;
    for (uint32_t i = 0; i < op.read; ++i) {
      const Arrival& v = w.values[value[i]];
      if (v.of_product && op.kind == PlanKind::kProduct) continue;
      a.time = std::max(a.time, v.time);
      a.trips = std::max(a.trips, v.trips);
    }
    return a;
  }

  void write(WarpRun& w, const PlannedOp& op, Arrival a) {
    const uint32_t* value = w.code->values.data() + op.values;
    for (uint32_t i = 0; i < op.written; ++i) w.values[value[i]] = a;
  }

  // Issues ops of the warp until one has to wait for its turn.
  void step(WarpRun& w, const Turn& turn) {
    const int index = turn.warp;
    double now = w.next, since = turn.since;
    while (true) {
      const PlannedOp* op = next_op(w);
      if (op == nullptr) return finish(w);
      const Arrival ready = sources(w, *op);
      if (op->cost.instructions == 0 && op->kind == PlanKind::kPlain) {
        write(w, *op, ready);
        ++w.at;
        continue;
      }
      double time = std::max(now, ready.time);
      if (op->commits_first && w.copies.time > 0) commit(w);
      if (op->kind == PlanKind::kAsyncWait && w.groups.size() > op->groups)
        for (size_t i = 0; i + op->groups < w.groups.size(); ++i) time = std::max(time, w.groups[i].time);
      if (op->kind == PlanKind::kProductWait || op->kind == PlanKind::kBulkWait)
        time = std::max(time, groups_done(w, *op));
      // Somebody else may come first: give way, and try again when this is the earliest.
      if (time > now && !queue_.empty() && queue_.top().time < time) {
        w.next = time;
        return push(index, time);
      }
      double& slot = issue_free_[w.scheduler];
      double& pipe = pipe_free_[w.scheduler][static_cast<size_t>(op->cost.pipe)];
      std::deque<double>& products = products_done_[w.scheduler];
      const bool multiplies = op->kind == PlanKind::kProduct;
      double blocked = std::max(time, !multiplies                        ? pipe
                                      : products.size() == kProductQueue ? products.front()
                                                                         : 0);
      if (op->cost.pipe == Pipe::kMemory) blocked = std::max(blocked, lsu_free_ - kQueueCycles);
      if (blocked > time && blocked > slot) {
        w.next = blocked;
        return push(index, blocked, std::min(since, time));
      }
      time = std::max(time, slot);
      w.trips = std::max(w.trips, ready.trips);
      const bool beside = !products.empty() && products.back() > time;
      slot = time + static_cast<double>(op->cost.instructions) * (beside ? kBesideProducts : 1);
      if (multiplies) {
        pipe = std::max(time, pipe) + static_cast<double>(op->cost.cycles);
        products.push_back(pipe);
        if (products.size() > kProductQueue) products.pop_front();
      }
      if (!multiplies && op->cost.pipe != Pipe::kMemory) pipe = time + static_cast<double>(op->cost.cycles);
      result_.usage.issue += static_cast<double>(op->cost.instructions);
      result_.usage.pipes[static_cast<size_t>(op->cost.pipe)] += static_cast<double>(op->cost.cycles);
      ++result_.instructions;
      now = std::max(slot, time + static_cast<double>(op->stall));
      ++w.at;
      if (op->kind == PlanKind::kBarrier && !op->waits_for_nobody) {
        write(w, *op, {time, w.trips});
        w.barrier = show(w, *op, time, time);
        return arrive(w, time);
      }
      if (op->kind == PlanKind::kMeet || op->kind == PlanKind::kPhaseWait) {
        w.next = now;
        w.barrier = show(w, *op, time, time);
        if (await_phase(w, index, *op, time)) return;
        now = w.next;
        w.wanted = since = now;
        if (!queue_.empty() && queue_.top().time < now) return push(index, now);
        continue;
      }
      const double done = carry_out(w, *op, time);
      show(w, *op, time, done);
      if (op->cost.pipe == Pipe::kControl) now = std::max(now, time + static_cast<double>(op->cost.latency));
      w.next = w.wanted = since = now;
      if (!queue_.empty() && queue_.top().time < now) return push(index, now);
    }
  }

  static void commit(WarpRun& w) {
    w.groups.push_back(w.copies);
    w.copies = {};
  }

  int show(const WarpRun& w, const PlannedOp& op, double issued, double done) const {
    return w.shown < 0 ? -1 : in_.timeline->add(w.shown, op, w.wanted, issued, done);
  }

  // When the groups that a wait waits for are done.
  static double groups_done(const WarpRun& w, const PlannedOp& op) {
    const std::deque<double>& groups = op.kind == PlanKind::kProductWait ? w.product_groups : w.store_groups;
    return groups.size() > op.groups ? groups[groups.size() - op.groups - 1] : 0;
  }

  // One of those who have to come to a phase has come. The last one wakes who sleeps.
  void deliver(BlockRun& block, const MemoryEvent& event, Arrival at) {
    const uint32_t key = BlockTrace::phase_key(event.barrier, event.phase);
    PhaseRun& phase = block.phases[key];
    phase.at.time = std::max(phase.at.time, at.time);
    phase.at.trips = std::max(phase.at.trips, at.trips);
    ++phase.arrived;
    if (!is_complete(block, key, phase)) return;
    for (const int i : phase.sleepers) wake(i, phase.at);
    phase.sleepers.clear();
  }

  static bool is_complete(const BlockRun& block, uint32_t key, const PhaseRun& phase) {
    const auto expected = block.trace->arrivals.find(key);
    return expected == block.trace->arrivals.end() || phase.arrived >= expected->second;
  }

  static double wake_after(const MemoryEvent& event) {
    return BlockTrace::is_named(event.barrier) ? cycles::kNamedToWake : cycles::kArriveToWake;
  }

  void wake(int index, Arrival at) {
    WarpRun& w = warps_[static_cast<size_t>(index)];
    w.asleep = false;
    w.next = w.wanted = std::max(w.next, at.time);
    w.trips = std::max(w.trips, at.trips);
    if (w.barrier >= 0) in_.timeline->spans[static_cast<size_t>(w.barrier)].done = w.next;
    w.barrier = -1;
    push(index, w.next);
  }

  // The warp waits for a phase, at a named barrier after it has arrived there itself. True: it sleeps, or
  // others come first.
  bool await_phase(WarpRun& w, int index, const PlannedOp& op, double time) {
    const MemoryEvent* event = event_of(w, op);
    BlockRun& block = blocks_[static_cast<size_t>(w.slot)];
    const bool meets = op.kind == PlanKind::kMeet;
    write(w, op, {time + static_cast<double>(op.cost.latency), w.trips});
    if (event == nullptr || event->barrier == 0) return false;
    if (meets) deliver(block, *event, {time + cycles::kNamedToWake, w.trips});
    const uint32_t key = BlockTrace::phase_key(event->barrier, event->phase);
    PhaseRun& phase = block.phases[key];
    if (is_complete(block, key, phase)) {
      w.trips = std::max(w.trips, phase.at.trips);
      w.next = std::max(w.next, phase.at.time);
      if (w.barrier >= 0) in_.timeline->spans[static_cast<size_t>(w.barrier)].done = w.next;
      w.barrier = -1;
      return false;
    }
    w.asleep = true;
    phase.sleepers.push_back(index);
    return true;
  }

  // A copy by the copy engine: its turn there, then its way to memory and back.
  Arrival bulk(const PlannedOp& op, const MemoryEvent& e, double time, int trips) {
    const double bytes = 32.0 * e.sectors;
    const bool stores = op.kind == PlanKind::kBulkStore;
    const double rate = stores ? cycles::kStoreBytes : cycles::kCopyBytes;
    result_.usage.shared += bytes / 128;
    if (op.fetches_map) time = std::max(time, maps_at_[stores]);
    const double begins = std::max(time, copy_free_);
    const double through = use(copy_free_, time, bytes / rate, result_.usage.copies);
    return memory(op, e, begins, through, trips);
  }

  // Returns when the result is there.
  double carry_out(WarpRun& w, const PlannedOp& op, double time) {
    if (op.fetches_map) {
      double& at = maps_at_[op.kind == PlanKind::kBulkStore];
      if (at < 0) at = time + cycles::kMapFetch;
    }
    if (op.kind == PlanKind::kProduct) {
      const double done =
          pipe_free_[w.scheduler][static_cast<size_t>(Pipe::kTensor)] + static_cast<double>(op.cost.latency);
      result_.usage.shared += static_cast<double>(op.shared_passes);
      w.products = std::max(w.products, done);
      write(w, op, {done, w.trips, true});
      return done;
    }
    if (op.kind == PlanKind::kProductCommit) {
      w.product_groups.push_back(w.products);
      return time;
    }
    if (op.kind == PlanKind::kBulkCommit) {
      w.store_groups.push_back(w.stores);
      w.stores = 0;
      return time;
    }
    if (op.kind == PlanKind::kProductWait || op.kind == PlanKind::kBulkWait) {
      std::deque<double>& groups = op.kind == PlanKind::kProductWait ? w.product_groups : w.store_groups;
      while (groups.size() > op.groups) groups.pop_front();
      return time;
    }
    if (op.kind == PlanKind::kAsyncCommit) {
      commit(w);
      return time;
    }
    if (op.kind == PlanKind::kAsyncWait) {
      while (w.groups.size() > op.groups) {
        w.trips = std::max(w.trips, w.groups.front().trips);
        w.groups.pop_front();
      }
      return time;
    }
    if (op.kind == PlanKind::kConstantLoad) {
      if (constants_at_ < 0) constants_at_ = time + cycles::kConstantMiss;
      const double done = std::max(time + static_cast<double>(op.cost.latency), constants_at_);
      write(w, op, {done, w.trips});
      return done;
    }
    if (!has_event(op.kind)) {
      double latency = static_cast<double>(op.cost.latency);
      // Shuffles take the same way as loads of shared memory.
      if (op.cost.pipe == Pipe::kMemory)
        latency += use(lsu_free_, time, op.cost.cycles, result_.usage.shared) - time;
      write(w, op, {time + latency, w.trips});
      return time + latency;
    }
    const MemoryEvent* event = event_of(w, op);
    if (event == nullptr) {
      write(w, op, {time, w.trips});
      return time;
    }
    Arrival a{time, w.trips};
    if (op.kind == PlanKind::kArrive) {
      write(w, op, a);
      if (event->barrier != 0)
        deliver(blocks_[static_cast<size_t>(w.slot)], *event, {time + wake_after(*event), w.trips});
      return time;
    }
    if (op.kind == PlanKind::kBulkLoad || op.kind == PlanKind::kBulkStore) {
      a = bulk(op, *event, time, w.trips);
      if (op.kind == PlanKind::kBulkStore) {
        w.stores = std::max(w.stores, a.time + cycles::kStoreDone);
      } else if (event->barrier != 0) {
        deliver(blocks_[static_cast<size_t>(w.slot)], *event, a);
      }
      return a.time;
    }
    if (event->wavefronts > 0) {
      // Beyond one cycle, a load takes its pipe for longer than its passes say.
      const bool reads = op.kind == PlanKind::kSharedLoad || op.kind == PlanKind::kGlobalLoad;
      const double beside = reads ? std::max(0.0f, op.cost.cycles - 1) : 0;
      const double wavefronts = std::max<double>(event->wavefronts, (op.merged + 1) / 2) + beside;
      const double through = use(lsu_free_, time, wavefronts, result_.usage.shared);
      a.time = std::max(a.time, through + static_cast<double>(op.cost.latency) - 1);
    }
    if (event->sectors > 0) {
      const Arrival g = global(w, op, *event, time);
      if (g.time > a.time) a = g;
    }
    if (op.kind == PlanKind::kAsyncCopy) {
      w.copies.time = std::max(w.copies.time, a.time);
      w.copies.trips = std::max(w.copies.trips, a.trips);
      return a.time;
    }
    write(w, op, a);
    return a.time;
  }

  static bool loads(const PlannedOp& op) {
    return op.kind == PlanKind::kGlobalLoad || op.kind == PlanKind::kAsyncCopy;
  }

  // Takes its turn in a queue; returns when it has left it.
  static double use(double& free, double time, double cycles, double& used) {
    used += cycles;
    return follow(free, time, cycles);
  }
  static double follow(double& free, double time, double cycles) {
    return free = std::max(free, time) + cycles;
  }

  Arrival global(WarpRun& w, const PlannedOp& op, const MemoryEvent& e, double time) {
    double tagged = use(lsu_free_, time, e.lines, result_.usage.lsu);
    const bool local = op.kind == PlanKind::kLocalLoad || op.kind == PlanKind::kLocalStore;
    if (local) return {tagged + cycles::kL1, w.trips};
    if (!loads(op)) return memory(op, e, tagged, tagged, w.trips);
    tagged = std::max(tagged, follow(w.lines_free, time, kWarpLine * e.lines));
    if (e.fresh == 0) return memory(op, e, tagged, tagged, w.trips);
    // DRAM gives sectors in pairs: those of a line, or of lines that have one sector each.
    const double pairs = std::max(0.5, static_cast<double>(e.lines) / e.sectors) * e.fresh;
    const double asked = follow(w.dram_free, tagged - kFirstAccesses * kWarpAccess,
                                kWarpAccess * pairs * in_.memory.dram_chance);
    return memory(op, e, tagged, std::max(tagged, asked), w.trips);
  }

  // From L1, or the copy engine, to L2 and back: asked for from `tagged` to `asked`.
  Arrival memory(const PlannedOp& op, const MemoryEvent& e, double tagged, double asked, int trips) {
    const MemoryShare& m = in_.memory;
    const bool stores = op.kind == PlanKind::kGlobalStore || op.kind == PlanKind::kBulkStore;
    const bool updates = op.kind == PlanKind::kGlobalAtomic;
    const double missed = stores || updates ? e.sectors : e.misses;
    if (missed == 0) return {tagged + cycles::kL1, trips};
    const double weight = stores || updates ? l2_store_weight(e.lines, e.sectors, e.parts)
                          : op.kind == PlanKind::kBulkLoad
                              ? m.bulk_weight * missed
                              : l2_load_weight(e.lines * missed / e.sectors, missed);
    const double at_l2 = use(l2_free_, tagged, weight * 32 / m.l2_bytes_per_cycle, result_.usage.l2);
    if (op.kind == PlanKind::kGlobalStore)
      follow(out_free_, tagged, kSentLine * e.lines + kSentSector * e.sectors + kSentPart * e.parts);
    else if (loads(op))
      asked = std::max(asked, follow(out_free_, tagged, kSentLine * e.lines * missed / e.sectors));
    if (stores) {
      use(dram_free_, at_l2, e.sectors * m.store_dram_bytes / m.dram_bytes_per_cycle, result_.usage.dram);
      return {op.kind == PlanKind::kBulkStore ? std::max(asked, at_l2) : tagged, trips};
    }
    const double dram_bytes = missed * (updates ? m.store_dram_bytes : m.load_dram_bytes);
    const double from_dram = use(dram_free_, tagged, dram_bytes / m.dram_bytes_per_cycle, result_.usage.dram);
    // DRAM gives sectors in pairs: the neighbour of one that came before waits in L2.
    const double chance = updates || e.fresh > 0 ? m.dram_chance : 0;
    const double in_l2 = e.fresh > 0 ? m.l2_first_latency : m.l2_latency;
    const double latency = chance * m.dram_latency + (1 - chance) * in_l2;
    // What waits for DRAM goes through L2 when it has come: the queue for L2 adds to the way's length.
    return {std::max({at_l2, from_dram, asked}) + latency, trips + 1};
  }

  void arrive(WarpRun& w, double time) {
    BlockRun& block = blocks_[static_cast<size_t>(w.slot)];
    w.at_barrier = true;
    w.next = time;
    block.release = std::max(block.release, time);
    block.trips = std::max(block.trips, w.trips);
    if (++block.waiting >= block.live) release(block);
  }

  void release(BlockRun& block) {
    const double time =
        block.release + cycles::kBarrier + cycles::kBarrierWarp * static_cast<double>(block.warps.size());
    for (int i : block.warps) {
      WarpRun& w = warps_[static_cast<size_t>(i)];
      if (!w.at_barrier) continue;
      w.at_barrier = false;
      w.next = w.wanted = time;
      if (w.barrier >= 0) in_.timeline->spans[static_cast<size_t>(w.barrier)].done = time;
      w.barrier = -1;
      w.trips = std::max(w.trips, block.trips);
      push(i, time);
    }
    block.waiting = 0;
  }

  // Traces that were cut may leave warps at a barrier that others no longer reach.
  bool release_stuck() {
    for (BlockRun& block : blocks_)
      if (block.waiting > 0) {
        release(block);
        return true;
      }
    bool woken = false;
    for (size_t i = 0; i < warps_.size(); ++i)
      if (warps_[i].asleep) {
        wake(static_cast<int>(i), {});
        woken = true;
      }
    for (BlockRun& block : blocks_)
      for (auto& [key, phase] : block.phases) phase.sleepers.clear();
    return woken;
  }

  void finish(WarpRun& w) {
    BlockRun& block = blocks_[static_cast<size_t>(w.slot)];
    block.end = std::max(block.end, w.next);
    result_.round_trips = std::max(result_.round_trips, w.trips);
    if (--block.live > 0) {
      if (block.waiting >= block.live) release(block);
      return;
    }
    result_.cycles = std::max(result_.cycles, block.end);
    start_block(w.slot, block.end);
  }

  const ReplayRequest& in_;
  ReplayResult result_;
  std::vector<WarpRun> warps_;
  std::vector<BlockRun> blocks_;
  std::priority_queue<Turn> queue_;
  uint64_t started_ = 0, next_scheduler_ = 0;
  double issue_free_[kSchedulers] = {};
  double pipe_free_[kSchedulers][kPipes] = {};
  double lsu_free_ = 0, l2_free_ = 0, dram_free_ = 0, copy_free_ = 0, out_free_ = 0;
  std::deque<double> products_done_[kSchedulers];  // the last ones
  double maps_at_[2] = {-1,
                        -1};  // when tensor maps of loads, of stores have come; before 0: nobody has asked
  double constants_at_ = -1;  // when they have come; before 0: nobody has asked
};

}  // namespace

ReplayResult replay(const ReplayRequest& request) {
  return Sm(request).run();
}

}  // namespace vgpu
