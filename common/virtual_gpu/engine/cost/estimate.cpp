#include "cost/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "cost/busiest_sm.h"
#include "cost/sample.h"
#include "exec/module.h"

namespace vgpu {
namespace {

// Replayed warp instructions: a share of what the engine ran, so that modelling costs little beside running.
constexpr double kShareReplayed = 0.1, kLeastReplayed = 600'000, kMostReplayed = 3'000'000;
constexpr double kJoint = 4;                // how sharply the slower of SMs and DRAM decides
constexpr double kUnlimited = 1e9;          // bytes per cycle
constexpr double kLeftTrips = 0.6;          // of n trips, n to this power do not overlap with others' traffic
constexpr uint32_t kLeastRounds = 4;        // of a loop that stands for a long block
constexpr double kFewWaves = 3;             // beyond, blocks that end at different times fill the SMs evenly
constexpr double kUneven = 1.25;            // times as heavy: a block that is seen to do more than others
constexpr double kShownReplayed = 200'000;  // instructions of all warps, for a timeline
// Machine code that no cache holds: the first bytes come with the launch, the others at this rate, as the
// kernels of exercise 04 show on an H200.
constexpr double kInstructionBytes = 16, kFirstCodeBytes = 4096, kCodeBytesPerCycle = 7.2;
constexpr double kTripWeight = 600;  // cycles: a trip to memory, about
constexpr double kUnlike = 2;        // times as heavy: the sampled blocks do not stand for such a block

KernelPlan& plan_of(const LaunchSample& sample, const Profile& profile) {
  KernelCode& kernel = sample.kernel;
  if (kernel.plan == nullptr) {
    std::vector<uint32_t> bits(kernel.origins.size(), 0);
    for (const auto& trace : sample.traces)
      for (size_t i = 0; i < trace->address_bits.size(); ++i) bits[i] |= trace->address_bits[i];
    kernel.plan = std::make_shared<KernelPlan>(kernel, bits, profile.tensor_cycles_per_mma);
  }
  return *kernel.plan;
}

// Everything that follows from the launch before any replay.
struct Setting {
  Setting(const LaunchReport& report, const Profile& profile);

  std::vector<const BlockTrace*> traces;
  double blocks = 0, busy = 1;  // blocks of the grid, SMs that get any
  double per_sm = 1;            // blocks that an SM gets
  double resident = 1;          // at once
  double waves = 1;
  double block_instructions = 1;        // traced, of an average sampled block
  double whole = 1;                     // a block, in units of its trace
  double work = 1;                      // an average block, in units of an average sampled one
  const BlockTrace* longest = nullptr;  // of the sampled
  bool longest_stands_out = false;      // among all blocks
  // Where a few blocks that run more or fewer instructions share an SM: sampled ones like those of the SM
  // that runs the most, and how many it runs in units of the sampled ones'.
  std::vector<const BlockTrace*> busiest;
  double busiest_work = 1;

 private:
  void find_busiest(const LaunchSample& sample, uint64_t sms, uint64_t resident_blocks);
};

// The one with the most instructions, unless another takes clearly longer with fewer.
const BlockTrace* longest_of(const std::vector<const BlockTrace*>& traces) {
  const auto most = [&](auto measure) {
    return *std::max_element(traces.begin(), traces.end(),
                             [&](auto* a, auto* b) { return measure(*a) < measure(*b); });
  };
  const BlockTrace* longest = most([](const BlockTrace& t) { return t.instructions; });
  const BlockTrace* heaviest = most([](const BlockTrace& t) { return t.weight(); });
  const bool clearly =
      static_cast<double>(heaviest->weight()) > kUneven * static_cast<double>(longest->weight());
  return clearly ? heaviest : longest;
}

Setting::Setting(const LaunchReport& report, const Profile& profile) {
  double instructions = 0, traced = 0;
  for (const auto& trace : report.sample->traces) {
    if (trace->traced_instructions == 0) continue;
    traces.push_back(trace.get());
    instructions += static_cast<double>(trace->instructions);
    traced += static_cast<double>(trace->traced_instructions);
  }
  if (traces.empty()) return;
  const double sampled = static_cast<double>(traces.size());
  blocks = static_cast<double>(report.grid.count());
  busy = std::min<double>(profile.sms, blocks);
  resident = std::max(1, report.occupancy_blocks);
  per_sm = blocks / busy;
  waves = std::max(1.0, per_sm / resident);
  // A few waves end with the SM that got the most blocks.
  if (waves < kFewWaves) per_sm = std::ceil(per_sm);
  resident = std::min(resident, std::ceil(per_sm));
  block_instructions = traced / sampled;
  whole = instructions / traced;
  const uint64_t ran = report.total.warp_instructions - report.sample->polled_instructions;
  work = static_cast<double>(ran) / blocks / (instructions / sampled);
  longest = longest_of(traces);
  const double average = static_cast<double>(report.sample->total_weight) / blocks;
  longest_stands_out = static_cast<double>(longest->weight()) > kUneven * average;
  if (waves < kFewWaves && instructions == traced)
    find_busiest(*report.sample, static_cast<uint64_t>(busy),
                 static_cast<uint64_t>(std::max(1, report.occupancy_blocks)));
}

void Setting::find_busiest(const LaunchSample& sample, uint64_t sms, uint64_t resident_blocks) {
  const std::vector<uint64_t>& all = sample.instructions;
  if (all.empty()) return;
  const double average = static_cast<double>(std::accumulate(all.begin(), all.end(), uint64_t{0})) / blocks;
  if (static_cast<double>(*std::max_element(all.begin(), all.end())) <= kUneven * average) return;
  double wanted = 0, found = 0;
  for (const uint64_t instructions : busiest_sm(all, sms, resident_blocks)) {
    const auto apart = [&](const BlockTrace* t) {
      return t->instructions > instructions ? t->instructions - instructions : instructions - t->instructions;
    };
    busiest.push_back(*std::min_element(traces.begin(), traces.end(),
                                        [&](auto* a, auto* b) { return apart(a) < apart(b); }));
    wanted += static_cast<double>(instructions);
    found += static_cast<double>(busiest.back()->instructions);
  }
  busiest_work = wanted / std::max(1.0, found);
}

// A replay and how to read a whole SM's time and use of it.
struct Outcome {
  double cycles = 0;
  Usage usage;
  double round_trips = 0;
};

class Estimator {
 public:
  Estimator(const LaunchReport& report, const Profile& profile, const L2Before& l2,
            const std::set<uint32_t>& cold_code, int timeline_warps)
      : report_(report),
        profile_(profile),
        l2_(l2),
        cold_code_(cold_code),
        timeline_warps_(timeline_warps),
        setting_(report, profile) {}

  Estimate run() {
    Estimate out;
    if (setting_.traces.empty()) return out;
    plan_ = &plan_of(*report_.sample, profile_);
    weights_ = block_weights();
    out.waves = setting_.waves;
    out.traffic = launch_traffic(report_, profile_, {setting_.waves, setting_.work, l2_});
    const double hertz = profile_.clock_ghz * 1e9;
    const double budget = std::clamp(kShareReplayed * static_cast<double>(report_.total.warp_instructions),
                                     kLeastReplayed, kMostReplayed);
    // What the SMs could do, and what DRAM could: neither is busy all the time, and both together take longer
    // than each alone.
    MemoryShare memory = memory_share(out.traffic, profile_, setting_.busy);
    memory.dram_bytes_per_cycle = kUnlimited;
    code_cycles_ = code_cycles();
    Outcome calm = whole_sm(memory, budget / 2);
    calm.cycles += code_cycles_;
    const double dram_cycles = out.traffic.dram_bytes() / out.traffic.dram_bytes_per_second(profile_) * hertz;
    const double cycles = std::pow(std::pow(calm.cycles, kJoint) + std::pow(dram_cycles, kJoint), 1 / kJoint);
    // Blocks are dealt to the SMs in turn, and each SM must fetch the code: the last one starts late.
    const double last_start =
        setting_.busy / profile_.dispatch_blocks_per_second +
        profile_.start_spread_us * 1e-6 * std::log(setting_.busy) / std::log(profile_.sms);
    Outcome alone = one_block(memory_share(out.traffic, profile_, 1), budget / 2);
    alone.cycles += code_cycles_;
    Outcome heaviest = heaviest_block(out.traffic, budget / 2);
    if (heaviest.cycles > 0) heaviest.cycles += code_cycles_;
    out.round_trip_seconds = (out.traffic.dram_chance * profile_.dram_latency_cycles +
                              (1 - out.traffic.dram_chance) * memory.l2_first_latency) /
                             hertz;
    add_terms(out, calm.usage,
              std::max(setting_.waves * (alone.cycles - code_cycles_) + code_cycles_, heaviest.cycles),
              hertz);
    out.seconds = cycles / hertz + last_start;
    // DRAM serves nobody in turn: when it is the bottleneck, some block is left with its trips to the end.
    const double stragglers = std::pow(std::round(alone.round_trips), kLeftTrips) * out.round_trip_seconds;
    out.seconds = std::max(out.seconds, dram_cycles / hertz + stragglers);
    if (setting_.longest_stands_out) out.seconds = std::max(out.seconds, alone.cycles / hertz);
    for (const auto& [name, seconds] : out.terms)
      if (std::string_view(name) != "latency") out.seconds = std::max(out.seconds, seconds);
    if (heaviest.cycles / hertz > out.seconds) {
      out.seconds = heaviest.cycles / hertz;
      out.straggler = report_.sample->heaviest_linear;
    }
    const Outcome& heavy = heaviest.cycles > 0 ? heaviest : alone;
    out.seconds = std::max(out.seconds, (turns() * (heavy.cycles - code_cycles_) + code_cycles_) / hertz);
    out.round_trips = static_cast<int>(std::lround(std::max(alone.round_trips, heaviest.round_trips)));
    out.unlike_replayed = std::max(unlike_, wavefront_cycles() / hertz / out.seconds);
    if (timeline_warps_ > 0) out.timeline = timeline(out.traffic);
    return out;
  }

 private:
  // About the cycles of each basic block, if one instruction waited for the other: enough to tell code that
  // takes long from code that does not.
  std::vector<BlockWeight> block_weights() const {
    std::vector<BlockWeight> weights(plan_->blocks.size());
    for (const auto& code : report_.sample->kernel.codes) {
      if (!code) continue;
      for (size_t b = 0; b < code->blocks.size(); ++b) {
        BlockWeight& weight = weights[code->first_block + b];
        weight.instructions = code->blocks[b].end - code->blocks[b].begin;
        for (const PlannedOp& op : plan_->blocks[code->first_block + b].alone.ops)
          weight.cycles += op_cycles(op);
      }
    }
    return weights;
  }
  static double op_cycles(const PlannedOp& op) {
    switch (op.kind) {
      case PlanKind::kGlobalLoad:
      case PlanKind::kGlobalAtomic:
      case PlanKind::kLocalLoad:
      case PlanKind::kAsyncWait:
      case PlanKind::kPhaseWait:
        return kTripWeight;
      case PlanKind::kSharedLoad:
      case PlanKind::kSharedAtomic:
        return cycles::kSharedLoad;
      case PlanKind::kFence:
        return cycles::kFence;
      default:
        return std::max(op.cost.latency, op.cost.cycles);
    }
  }

  // Replays, and keeps how the part that is replayed compares with the whole.
  ReplayResult replayed(const ReplayRequest& r) {
    const ReplayResult result = replay(r);
    BlockWeight whole;
    for (size_t i = 0; i < std::min<size_t>(r.blocks, r.traces.size()); ++i) {
      const std::vector<uint64_t>& entered = r.traces[i]->entered;
      const double times =
          std::ceil(static_cast<double>(r.blocks - i) / static_cast<double>(r.traces.size()));
      for (size_t b = 0; b < entered.size(); ++b)
        whole.add(weights_[b], times * static_cast<double>(entered[b]));
    }
    const BlockWeight& part = result.weight;
    if (part.cycles > 0 && whole.instructions > 0)
      unlike_ = std::max(unlike_, whole.cycles / whole.instructions * part.instructions / part.cycles);
    return result;
  }

  // Shared memory of an SM serves one request, or part of one, per cycle.
  double wavefront_cycles() const {
    const Counters& c = report_.total;
    return static_cast<double>(c.shared_load_wavefronts + c.shared_store_wavefronts +
                               c.shared_atomic_wavefronts) /
           setting_.busy;
  }

  ReplayRequest request(const MemoryShare& memory) const {
    ReplayRequest r;
    r.plan = plan_;
    r.traces = setting_.traces;
    r.resident = static_cast<int>(setting_.resident);
    r.dispatch_cycles = setting_.busy / profile_.dispatch_blocks_per_second * profile_.clock_ghz * 1e9;
    r.memory = memory;
    r.weights = &weights_;
    return r;
  }

  static Outcome scaled(const ReplayResult& r, double factor) {
    Outcome o{r.cycles, r.usage, static_cast<double>(r.round_trips)};
    scale(o.usage, factor);
    return o;
  }
  static void scale(Usage& u, double factor) {
    for (double* x : {&u.issue, &u.shared, &u.lsu, &u.l2, &u.dram, &u.copies}) *x *= factor;
    for (double& p : u.pipes) p *= factor;
  }

  // All that one SM does, within about so many replayed instructions.
  Outcome whole_sm(const MemoryShare& memory, double budget) {
    const Setting& s = setting_;
    ReplayRequest r = request(memory);
    if (!s.busiest.empty() &&
        static_cast<double>(s.busiest.size()) * s.block_instructions <= kMostReplayed / 2) {
      r.traces = s.busiest;
      r.blocks = s.busiest.size();
      Outcome o = scaled(replay(r), s.busiest_work);
      o.cycles *= s.busiest_work;
      return o;
    }
    const double blocks = s.per_sm * s.work * s.whole;  // in units of a traced block
    if (blocks * s.block_instructions <= budget || (s.per_sm <= 1 && s.block_instructions <= budget)) {
      r.blocks = static_cast<uint64_t>(std::max(1.0, std::round(s.per_sm)));
      const ReplayResult result = replayed(r);
      const double factor = blocks / static_cast<double>(r.blocks);
      Outcome o = scaled(result, factor);
      o.cycles *= std::max(1.0, factor);
      return o;
    }
    if (3 * s.resident * s.block_instructions <= budget && s.per_sm >= 2 * s.resident) {
      r.blocks = static_cast<uint64_t>(s.resident);
      const ReplayResult first = replayed(r);
      r.blocks *= 2;
      const ReplayResult second = replay(r);
      Outcome o = scaled(second, blocks / static_cast<double>(r.blocks));
      const double per_block = (second.cycles - first.cycles) / s.resident;
      o.cycles += (blocks - static_cast<double>(r.blocks)) * std::max(0.0, per_block);
      return o;
    }
    r.blocks = static_cast<uint64_t>(s.resident);
    Outcome o = one_wave(r, budget);
    const double waves = std::max(1.0, s.per_sm * s.work / s.resident);
    scale(o.usage, s.per_sm * s.work / s.resident);
    o.cycles *= waves < kFewWaves ? (waves + std::ceil(waves)) / 2 : waves;
    return o;
  }

  // Blocks that all run at once, from beginning to end. Of long ones the beginning is replayed; what the
  // second half of that took stands for the rest.
  Outcome one_wave(ReplayRequest r, double budget) {
    double instructions = 0, traced = 0;
    for (const BlockTrace* trace : r.traces) {
      instructions += static_cast<double>(trace->instructions);
      traced += static_cast<double>(trace->traced_instructions);
    }
    const double whole = instructions / traced;
    const double share =
        budget / (static_cast<double>(r.blocks) * traced / static_cast<double>(r.traces.size()));
    if (share >= 1) {
      Outcome o = scaled(replayed(r), whole);
      o.cycles *= whole;
      o.round_trips *= whole;
      return o;
    }
    // Warps that wait for each other in pairs run different loops: a share of each warp's events then.
    const bool together = r.traces.front()->arrivals.empty();
    const Loop loop = together ? outer_loop(r.traces.front()->warps.front()) : Loop{};
    double parts = 1 / share, half = parts * 2;  // the whole, in units of what is replayed and of half of it
    if (loop.rounds >= kLeastRounds) {
      r.loop_block = loop.block;
      r.loop_rounds = std::max(2u, static_cast<uint32_t>(share * loop.rounds));
      parts = static_cast<double>(loop.rounds) / r.loop_rounds;
      half = static_cast<double>(loop.rounds) / (r.loop_rounds - r.loop_rounds / 2);
    } else {
      r.share_of_trace = share;
    }
    const ReplayResult result = replayed(r);
    Outcome o = scaled(result, parts * whole);
    o.round_trips *= parts * whole;
    const double rest = (parts * whole - 1) / parts * half;  // in units of the second half
    o.cycles += rest * (result.cycles - result.middle_cycles);
    return o;
  }

  struct Loop {
    uint32_t block = ~0u, rounds = 0;
  };
  // The loop that a warp goes round least often, but often enough.
  static Loop outer_loop(const WarpTrace& warp) {
    std::map<uint32_t, uint32_t> rounds;
    for (const BlockEvent& e : warp.blocks) ++rounds[e.block];
    Loop found;
    for (const auto& [block, n] : rounds)
      if (n >= kLeastRounds && (found.rounds == 0 || n < found.rounds)) found = {block, n};
    return found;
  }

  // A block that has the device for itself: the longest of those sampled.
  Outcome one_block(const MemoryShare& memory, double budget) {
    ReplayRequest r = request(memory);
    r.blocks = r.resident = 1;
    r.traces = {setting_.longest};
    return one_wave(r, budget);
  }

  // How many heavy blocks follow each other, in units of the heaviest: they take their turns, whatever other
  // blocks of their SM do meanwhile.
  double turns() const {
    const LaunchSample& sample = *report_.sample;
    if (sample.weights.empty()) return 1;
    const uint64_t most = sample.heavier() == nullptr ? setting_.longest->weight() : sample.heaviest_weight;
    const uint64_t chain =
        longest_chain(sample.weights, static_cast<uint64_t>(setting_.busy),
                      static_cast<uint64_t>(std::max(1, report_.occupancy_blocks)), most / 2);
    return std::max(1.0, static_cast<double>(chain) / static_cast<double>(most));
  }

  // The heaviest block, where it is none of the sampled ones: no launch ends before it. Its outline shows how
  // it begins; the rest takes as long for each instruction, and what it asks of memory more often than it did
  // at the beginning takes a trip each.
  Outcome heaviest_block(const LaunchTraffic& traffic, double budget) const {
    const LaunchSample& sample = *report_.sample;
    const BlockTrace* outline = sample.heavier();
    if (outline == nullptr || outline->traced_instructions == 0) return {};
    const Counters& c = report_.total;
    const double asked = static_cast<double>(c.global_load_sectors + c.async_sectors);
    const double least_missed =
        asked > 0 ? std::min(1.0, static_cast<double>(report_.distinct_load_sectors) / asked) : 1;
    const BlockTrace trace = filled_in(*outline, sample, least_missed);
    ReplayRequest r = request(memory_share(traffic, profile_, 1));
    r.blocks = r.resident = 1;
    r.traces = {&trace};
    r.share_of_trace = std::min(1.0, budget / static_cast<double>(trace.traced_instructions));
    const ReplayResult result = replay(r);
    const WarpTrace& warp = trace.longest_warp();
    const double traced_asks = static_cast<double>(warp.traced_asks) * r.share_of_trace;
    const double whole = static_cast<double>(warp.instructions) /
                         std::max(1.0, static_cast<double>(warp.traced_instructions) * r.share_of_trace);
    const double trips_per_ask = traced_asks > 0 ? result.round_trips / traced_asks : least_missed;
    const double further =
        std::max(0.0, static_cast<double>(warp.asks) - whole * traced_asks) * trips_per_ask;
    Outcome o = scaled(result, whole);
    o.round_trips = whole * result.round_trips + further;
    // A trace that was cut ends before what it asked for last has come.
    const double last_trip = warp.cut && result.round_trips > 0 ? r.memory.dram_latency : 0;
    o.cycles = whole * (result.cycles + last_trip) + further * r.memory.dram_latency;
    // Many such blocks, none of them sampled, take their turns in what the device holds at once.
    const double sampled = static_cast<double>(setting_.longest->weight());
    const double weight = static_cast<double>(sample.heaviest_weight);
    if (weight > kUnlike * sampled)
      o.cycles *= std::max(1.0, static_cast<double>(sample.total_weight) / weight /
                                    (profile_.sms * std::max(1, report_.occupancy_blocks)));
    return o;
  }

  // The beginning of the first block on an SM that is as full, and has as much of the memory system, as in
  // the launch.
  Timeline timeline(const LaunchTraffic& traffic) const {
    Timeline shown;
    ReplayRequest r = request(memory_share(traffic, profile_, setting_.busy));
    shown.warps = timeline_warps_;
    shown.resident = r.resident;
    shown.cycles_per_second = profile_.clock_ghz * 1e9;
    r.blocks = static_cast<uint64_t>(r.resident);
    r.share_of_trace = std::min(1.0, kShownReplayed / (r.resident * setting_.block_instructions));
    r.timeline = &shown;
    replay(r);
    shown.cut = shown.cut || r.share_of_trace < 1;
    return shown;
  }

  // What an SM waits for the machine code that is in no cache.
  double code_cycles() const {
    double instructions = 0;
    for (const uint32_t block : cold_code_) {
      const KernelPlan::Entry& entry = plan_->blocks[block];
      for (const PlannedOp& op : (entry.rounds > 0 ? entry.unrolled : entry.alone).ops)
        instructions += static_cast<double>(op.cost.instructions);
    }
    return std::max(0.0, kInstructionBytes * instructions - kFirstCodeBytes) / kCodeBytesPerCycle;
  }

  void add_terms(Estimate& out, const Usage& u, double latency_cycles, double hertz) const {
    const auto pipe = [&](Pipe p) { return u.pipes[static_cast<size_t>(p)] / 4 / hertz; };
    out.terms = {
        {"dram", out.traffic.dram_bytes() / out.traffic.dram_bytes_per_second(profile_)},
        {"l2", out.traffic.l2_seconds(profile_)},
        {"issue", u.issue / 4 / hertz},
        {"fp32", pipe(Pipe::kFma)},
        {"integer", pipe(Pipe::kAlu)},
        {"special", pipe(Pipe::kSpecial)},
        {"double", pipe(Pipe::kDouble)},
        {"tensor", pipe(Pipe::kTensor)},
        {"shared", u.shared / hertz},
        {"lsu", u.lsu / hertz},
        {"atomics", out.traffic.atomic_cycles / hertz},
        {"dispatch", setting_.blocks / profile_.dispatch_blocks_per_second},
        {"code", code_cycles_ / hertz},
        {"latency", latency_cycles / hertz},
    };
    if (u.copies > 0) out.terms.push_back({"copies", u.copies / hertz});
  }

  const LaunchReport& report_;
  const Profile& profile_;
  const L2Before l2_;
  const std::set<uint32_t>& cold_code_;
  const int timeline_warps_;
  const Setting setting_;
  KernelPlan* plan_ = nullptr;
  std::vector<BlockWeight> weights_;  // by basic block
  double unlike_ = 1;                 // Estimate::unlike_replayed
  double code_cycles_ = 0;
};

}  // namespace

Estimate estimate_launch(const LaunchReport& report, const Profile& profile, const L2Before& l2,
                         const std::set<uint32_t>& cold_code, int timeline_warps) {
  return Estimator(report, profile, l2, cold_code, timeline_warps).run();
}

}  // namespace vgpu
