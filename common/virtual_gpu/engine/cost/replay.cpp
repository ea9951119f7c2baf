#include "cost/replay.h"

#include <algorithm>
#include <deque>
#include <queue>

#include "cost/traffic_share.h"

namespace vgpu {
namespace {

constexpr int kSchedulers = 4;
constexpr double kQueueCycles = 48;  // work a memory queue holds before instructions for it must wait

struct Arrival {
  double time = 0;
  int trips = 0;
};

// A warp on its way through its trace.
struct WarpRun {
  const WarpTrace* trace = nullptr;
  size_t event = 0, end = 0;  // block events
  uint32_t rounds = 0;        // of the loop that is counted
  const PlannedBlock* code = nullptr;
  size_t at = 0;                                // op in `code`
  uint32_t memory_begin = 0, memory_count = 0;  // events of the code at hand
  uint32_t memory_seen = 0;                     // where the last one was found
  double next = 0;                              // it may issue again
  int trips = 0;
  std::vector<Arrival> values;
  Arrival copies;              // issued, not yet in a group
  std::deque<Arrival> groups;  // of cp.async, oldest first
  int slot = 0, scheduler = 0;
  bool at_barrier = false;
  int shown = -1;     // its number in the timeline, if it is there
  int barrier = -1;   // its span there, for the barrier at which it waits
  double wanted = 0;  // it was done with the instruction before
};

struct BlockRun {
  int live = 0, waiting = 0;
  double release = 0, end = 0;
  int trips = 0;
  std::vector<int> warps;
};

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
    result_.cycles = std::max({result_.cycles, l2_free_, dram_free_});
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
    const double begin =
        std::max(now, static_cast<double>(started_) * in_.dispatch_cycles) + cycles::kBlockStart;
    ++started_;
    BlockRun& block = blocks_[static_cast<size_t>(slot)];
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
      w.groups.clear();
      w.slot = slot;
      w.at_barrier = false;
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
      // Somebody else may come first: give way, and try again when this is the earliest.
      if (time > now && !queue_.empty() && queue_.top().time < time) {
        w.next = time;
        return push(index, time);
      }
      double& slot = issue_free_[w.scheduler];
      double& pipe = pipe_free_[w.scheduler][static_cast<size_t>(op->cost.pipe)];
      double blocked = std::max(time, pipe);
      if (op->cost.pipe == Pipe::kMemory) blocked = std::max(blocked, lsu_free_ - kQueueCycles);
      if (blocked > time && blocked > slot) {
        w.next = blocked;
        return push(index, blocked, std::min(since, time));
      }
      time = std::max(time, slot);
      w.trips = std::max(w.trips, ready.trips);
      slot = time + static_cast<double>(op->cost.instructions);
      if (op->cost.pipe != Pipe::kMemory) pipe = time + static_cast<double>(op->cost.cycles);
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

  // Returns when the result is there.
  double carry_out(WarpRun& w, const PlannedOp& op, double time) {
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
    if (event->wavefronts > 0) {
      // Beyond one cycle, a load takes its pipe for longer than its passes say.
      const bool loads = op.kind == PlanKind::kSharedLoad || op.kind == PlanKind::kGlobalLoad;
      const double beside = loads ? std::max(0.0f, op.cost.cycles - 1) : 0;
      const double wavefronts = std::max<double>(event->wavefronts, (op.merged + 1) / 2) + beside;
      const double through = use(lsu_free_, time, wavefronts, result_.usage.shared);
      a.time = std::max(a.time, through + static_cast<double>(op.cost.latency) - 1);
    }
    if (event->sectors > 0) {
      const Arrival g = global(op, *event, time, w.trips);
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

  // Takes its turn in a queue; returns when it has left it.
  static double use(double& free, double time, double cycles, double& used) {
    free = std::max(free, time) + cycles;
    used += cycles;
    return free;
  }

  Arrival global(const PlannedOp& op, const MemoryEvent& e, double time, int trips) {
    const MemoryShare& m = in_.memory;
    const double tagged = use(lsu_free_, time, e.lines, result_.usage.lsu);
    const bool stores = op.kind == PlanKind::kGlobalStore || op.kind == PlanKind::kLocalStore;
    const bool local = op.kind == PlanKind::kLocalLoad || op.kind == PlanKind::kLocalStore;
    if (local) return {tagged + cycles::kL1, trips};
    const bool updates = op.kind == PlanKind::kGlobalAtomic;
    const double missed = stores || updates ? e.sectors : e.misses;
    if (missed == 0) return {tagged + cycles::kL1, trips};
    const double weight = stores || updates ? l2_store_weight(e.lines, e.sectors, e.parts)
                                            : l2_load_weight(e.lines * missed / e.sectors, missed);
    const double at_l2 = use(l2_free_, tagged, weight * 32 / m.l2_bytes_per_cycle, result_.usage.l2);
    if (stores) {
      use(dram_free_, at_l2, e.sectors * m.store_dram_bytes / m.dram_bytes_per_cycle, result_.usage.dram);
      return {tagged, trips};
    }
    const double dram_bytes = missed * (updates ? m.store_dram_bytes : m.load_dram_bytes);
    const double from_dram = use(dram_free_, tagged, dram_bytes / m.dram_bytes_per_cycle, result_.usage.dram);
    // DRAM gives sectors in pairs: the neighbour of one that came before waits in L2.
    const double chance = updates || e.fresh > 0 ? m.dram_chance : 0;
    const double in_l2 = e.fresh > 0 ? m.l2_first_latency : m.l2_latency;
    const double latency = chance * m.dram_latency + (1 - chance) * in_l2;
    // What waits for DRAM goes through L2 when it has come: the queue for L2 adds to the way's length.
    return {std::max(at_l2, from_dram) + latency, trips + 1};
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
    return false;
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
  double lsu_free_ = 0, l2_free_ = 0, dram_free_ = 0;
  double constants_at_ = -1;  // when they have come; before 0: nobody has asked
};

}  // namespace

ReplayResult replay(const ReplayRequest& request) {
  return Sm(request).run();
}

}  // namespace vgpu
