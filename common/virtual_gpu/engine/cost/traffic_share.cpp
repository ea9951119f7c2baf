#include "cost/traffic_share.h"

#include <algorithm>

namespace vgpu {
namespace {

constexpr double kSectorBytes = 32;

// Misses of L1 in one sampled block, all of it.
double block_misses(const BlockTrace& trace) {
  double misses = 0;
  for (const WarpTrace& w : trace.warps)
    for (const MemoryEvent& e : w.memory) misses += e.misses;
  return trace.traced_instructions == 0 ? 0
                                        : misses * static_cast<double>(trace.instructions) /
                                              static_cast<double>(trace.traced_instructions);
}

// Stored sectors that never get all their bytes. DRAM with error correction cannot write a part: the rest is
// read first. Sectors that several warps fill between them are whole by the time L2 lets go of them.
double partial_sectors(const LaunchReport& report) {
  const Counters& c = report.total;
  if (c.global_store_sectors == 0) return 0;
  const double distinct = static_cast<double>(report.distinct_store_sectors);
  const double filled = static_cast<double>(c.global_store_bytes) / kSectorBytes;
  const double coverage = filled / static_cast<double>(c.global_store_sectors);  // of one by one request
  if (filled >= distinct || coverage >= 1) return 0;
  return std::min(distinct, (distinct - filled) / (1 - coverage));
}

}  // namespace

LaunchTraffic launch_traffic(const LaunchReport& report, const Profile& profile,
                             const TrafficSetting& setting) {
  const Counters& c = report.total;
  const LaunchSample& sample = *report.sample;
  const double blocks = static_cast<double>(report.grid.count());
  LaunchTraffic t;
  double misses = 0;
  for (const auto& trace : sample.traces) {
    misses += block_misses(*trace);
    t.hot_sectors = std::max(t.hot_sectors, static_cast<double>(trace->updated.distinct()));
  }
  const double distinct = static_cast<double>(report.distinct_load_sectors);
  t.load_sectors =
      std::max(distinct, misses / static_cast<double>(sample.traces.size()) * setting.work * blocks);
  t.store_sectors = static_cast<double>(c.global_store_sectors + c.global_atomic_sectors);
  const bool by_pairs = profile.dram_access_bytes > kSectorBytes;
  const auto moved = [&](uint64_t sectors, uint64_t pairs) {
    return by_pairs ? static_cast<double>(pairs) * 2 * kSectorBytes
                    : static_cast<double>(sectors) * kSectorBytes;
  };
  const double cold = distinct > 0 ? 1 - setting.warm_sectors / distinct : 1;
  t.load_dram_bytes = cold * moved(report.distinct_load_sectors, report.distinct_load_pairs);
  t.store_dram_bytes = moved(report.distinct_store_sectors, report.distinct_store_pairs) +
                       partial_sectors(report) * kSectorBytes;
  // Blocks of one wave ask for what they share at about the same time: none finds it in L2.
  const double reused = t.load_sectors > 0 ? distinct / t.load_sectors : 1;
  t.dram_chance = cold * (1 / setting.waves + (1 - 1 / setting.waves) * std::min(1.0, reused));
  return t;
}

MemoryShare memory_share(const LaunchTraffic& traffic, const Profile& profile, double busy_sms) {
  const double per_cycle = 1 / (busy_sms * profile.clock_ghz * 1e9);
  MemoryShare m;
  m.dram_latency = m.unloaded_dram_latency = profile.dram_latency_cycles;
  m.l2_latency = profile.l2_latency_cycles;
  m.dram_bytes_per_cycle = std::min(profile.sm_bytes_per_cycle, profile.dram_bytes_per_second * per_cycle);
  m.l2_bytes_per_cycle = std::min(profile.sm_bytes_per_cycle, profile.l2_bytes_per_second * per_cycle);
  m.dram_chance = traffic.dram_chance;
  m.load_dram_bytes = traffic.load_sectors > 0 ? traffic.load_dram_bytes / traffic.load_sectors : 0;
  m.store_dram_bytes = traffic.store_sectors > 0 ? traffic.store_dram_bytes / traffic.store_sectors : 0;
  return m;
}

}  // namespace vgpu
