#include "cost/traffic_share.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cost/sample.h"
#include "exec/module.h"

namespace vgpu {
namespace {

constexpr double kSectorBytes = 32;

// Measured on an H200, in cycles: a turn of an atomic, and of each sector that takes part; a sum of floats in
// one word before the next can begin; and the slices that work side by side at most.
constexpr double kTurnCycles = 0.7, kSectorTurnCycles = 0.75, kFloatSumCycles = 3.5, kMostSlices = 48;
constexpr double kCrowdedLatency = 0.08;  // by which a trip takes longer when all SMs are at work
constexpr double kLineBytes = 128;
// A sector that the copy engine asks for: what nobody else reads, and what other SMs read as well.
constexpr double kOwnBulkWeight = 0.63, kSharedBulkWeight = 0.45;
// Cycles by which a load takes longer when some of its lines lie in the half of L2 that is far from its SM.
// Once read, they are kept in the near half.
constexpr double kFarHalf = 150;

// What one sampled block asked of L2, all of it.
struct BlockRequests {
  double misses = 0, miss_lines = 0, other_sectors = 0, other_lines = 0, other_parts = 0;
  double atomic_cycles = 0, float_turns = 0;
  double bulk_loads = 0, bulk_stores = 0;  // sectors
};

BlockRequests requests_of(const BlockTrace& trace, const KernelCode& kernel) {
  BlockRequests r;
  if (trace.traced_instructions == 0) return r;
  const double whole =
      static_cast<double>(trace.instructions) / static_cast<double>(trace.traced_instructions);
  for (const WarpTrace& w : trace.warps)
    for (const MemoryEvent& e : w.memory) {
      if (e.sectors == 0) continue;
      const std::string_view opcode = kernel.origins[e.op].opcode;
      const bool bulk = opcode.starts_with("cp.async.bulk");
      if (bulk) r.bulk_loads += whole * e.misses;
      r.misses += whole * e.misses;
      if (e.misses > 0) {
        r.miss_lines += whole * e.lines * e.misses / e.sectors;
        continue;
      }
      if (e.turns > 0) {
        r.atomic_cycles += whole * (kTurnCycles * e.turns + kSectorTurnCycles * e.sector_turns);
        if (opcode.find(".f") != std::string_view::npos) r.float_turns += whole * e.turns;
      }
      if (opcode.starts_with("ld")) continue;
      r.other_sectors += whole * e.sectors;
      r.other_lines += whole * e.lines;
      r.other_parts += whole * e.parts;
      if (bulk) r.bulk_stores += whole * e.sectors;
    }
  return r;
}

// Of the sectors that are stored in parts, those that nobody completes: L2 reads the rest of their lines.
// Where warps store enough bytes to fill all between them, they do.
double never_filled(const LaunchReport& report) {
  const double filled = static_cast<double>(report.total.global_store_bytes) / kSectorBytes;
  const double distinct = static_cast<double>(report.distinct_store_sectors);
  const double passes = static_cast<double>(report.total.global_store_sectors);
  if (filled >= distinct) return 0;
  const double coverage = filled / passes;  // of a sector by one request
  return std::min(1.0, (distinct - filled) / (distinct * (1 - coverage)));
}

}  // namespace

double l2_load_weight(double lines, double sectors) {
  return 0.4 * lines + 0.9 * sectors;
}

double l2_store_weight(double lines, double sectors, double parts) {
  return 1.9 * lines + 0.7 * sectors + 0.43 * parts;
}

double LaunchTraffic::l2_seconds(const Profile& profile) const {
  const double weight = (1 - bulk_loads) * l2_load_weight(load_lines, load_sectors) +
                        bulk_weight * bulk_loads * load_sectors +
                        l2_store_weight(store_lines, store_sectors, store_parts);
  return weight * kSectorBytes / profile.l2_bytes_per_second;
}

double LaunchTraffic::dram_bytes_per_second(const Profile& profile) const {
  const double read = load_dram_bytes + fill_dram_bytes, all = dram_bytes();
  if (all == 0) return profile.dram_bytes_per_second;
  const double mixed = 4 * read * (all - read) / (all * all) * written_out;
  return profile.dram_bytes_per_second * (1 + profile.dram_one_way_gain * (1 - mixed));
}

LaunchTraffic launch_traffic(const LaunchReport& report, const Profile& profile,
                             const TrafficSetting& setting) {
  const Counters& c = report.total;
  const LaunchSample& sample = *report.sample;
  const double sampled = static_cast<double>(sample.traces.size());
  const double blocks = static_cast<double>(report.grid.count());
  LaunchTraffic t;
  BlockRequests sum;
  double updated = 0;  // sectors
  for (const auto& trace : sample.traces) {
    const BlockRequests r = requests_of(*trace, sample.kernel);
    sum.misses += r.misses;
    sum.miss_lines += r.miss_lines;
    sum.other_sectors += r.other_sectors;
    sum.other_lines += r.other_lines;
    sum.other_parts += r.other_parts;
    sum.atomic_cycles += r.atomic_cycles;
    sum.float_turns += r.float_turns;
    sum.bulk_loads += r.bulk_loads;
    sum.bulk_stores += r.bulk_stores;
    t.atomic_slices = std::max(t.atomic_slices, static_cast<double>(trace->updated_pieces.distinct()));
    updated = std::max(updated, static_cast<double>(trace->updated.distinct()));
  }
  t.atomic_slices = std::clamp(t.atomic_slices, 1.0, kMostSlices);
  const double all = setting.work * blocks / sampled;
  t.atomic_cycles = std::max(sum.atomic_cycles * all / t.atomic_slices,
                             sum.float_turns * all / std::max(1.0, updated) * kFloatSumCycles);
  const double distinct = static_cast<double>(report.distinct_load_sectors);
  // Sampled blocks that do little but compute can make instructions a poor measure of loads: no more can miss
  // than were asked for.
  const double asked = static_cast<double>(c.global_load_sectors + c.async_sectors);
  t.load_sectors = std::max(distinct, std::min(asked, sum.misses / sampled * setting.work * blocks));
  t.load_lines = sum.misses > 0 ? t.load_sectors * sum.miss_lines / sum.misses : t.load_sectors / 4;
  t.store_sectors =
      static_cast<double>(c.global_store_sectors + c.global_atomic_sectors) + sum.bulk_stores * all;
  t.store_lines =
      sum.other_sectors > 0 ? t.store_sectors * sum.other_lines / sum.other_sectors : t.store_sectors / 4;
  const double part = sum.other_sectors > 0 ? sum.other_parts / sum.other_sectors : 0;
  t.store_parts = t.store_sectors * part;
  t.bulk_loads = sum.misses > 0 ? sum.bulk_loads / sum.misses : 0;
  const bool by_pairs = profile.dram_access_bytes > kSectorBytes;
  const auto moved = [&](uint64_t sectors, uint64_t pairs) {
    return by_pairs ? static_cast<double>(pairs) * 2 * kSectorBytes
                    : static_cast<double>(sectors) * kSectorBytes;
  };
  const double cold = distinct > 0 ? 1 - setting.l2.loads / distinct : 1;
  t.load_dram_bytes = cold * moved(report.distinct_load_sectors, report.distinct_load_pairs);
  if (report.distinct_store_sectors > 0) {
    // What is in L2 already changes there; parts of sectors wait there for the rest of their line.
    const double stored = static_cast<double>(report.distinct_store_sectors);
    const double fresh = 1 - setting.l2.stores / stored;
    const double left = part * never_filled(report);
    t.store_dram_bytes =
        fresh * (1 - left) * moved(report.distinct_store_sectors, report.distinct_store_pairs);
    t.fill_dram_bytes = fresh * left * static_cast<double>(report.distinct_store_lines) * kLineBytes;
  }
  t.displaced_dram_bytes = setting.l2.displaced_bytes;
  // L2 keeps what was written last; only what it has no room for is written while others read.
  if (t.store_dram_bytes > 0)
    t.written_out = std::max(setting.l2.full, 1 - profile.l2_bytes / t.store_dram_bytes);
  // Blocks of one wave ask for what they share at about the same time: none finds it in L2.
  const double reused = t.load_sectors > 0 ? distinct / t.load_sectors : 1;
  t.bulk_weight = kSharedBulkWeight + std::min(1.0, reused) * (kOwnBulkWeight - kSharedBulkWeight);
  t.stored_by_others = setting.l2.stored_by_others;
  t.dram_chance = cold * (1 / setting.waves + (1 - 1 / setting.waves) * std::min(1.0, reused));
  return t;
}

MemoryShare memory_share(const LaunchTraffic& traffic, const Profile& profile, double busy_sms) {
  const double per_cycle = 1 / (busy_sms * profile.clock_ghz * 1e9);
  MemoryShare m;
  // SMs that ask at the same time get in each other's way, however little each of them asks for.
  m.dram_latency =
      profile.dram_latency_cycles * (1 + kCrowdedLatency * std::log(busy_sms) / std::log(profile.sms));
  m.l2_latency = profile.l2_latency_cycles;
  m.l2_first_latency = m.l2_latency + traffic.stored_by_others * kFarHalf;
  m.dram_bytes_per_cycle =
      std::min(profile.sm_bytes_per_cycle, traffic.dram_bytes_per_second(profile) * per_cycle);
  m.l2_bytes_per_cycle = std::min(profile.sm_bytes_per_cycle, profile.l2_bytes_per_second * per_cycle);
  m.bulk_weight = traffic.bulk_weight;
  m.dram_chance = traffic.dram_chance;
  m.load_dram_bytes = traffic.load_sectors > 0 ? traffic.load_dram_bytes / traffic.load_sectors : 0;
  m.store_dram_bytes = traffic.store_sectors > 0
                           ? (traffic.store_dram_bytes + traffic.fill_dram_bytes) / traffic.store_sectors
                           : 0;
  return m;
}

}  // namespace vgpu
