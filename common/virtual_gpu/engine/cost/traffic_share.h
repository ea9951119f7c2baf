// What a launch moves between SMs, L2 and DRAM, and the part of the memory system that one SM has.
#pragma once

#include "cost/replay.h"
#include "device/profile.h"
#include "exec/launch.h"

namespace vgpu {

struct LaunchTraffic {
  double load_sectors = 0;   // that miss L1, of all blocks
  double store_sectors = 0;  // stores and atomics
  double load_dram_bytes = 0, store_dram_bytes = 0;
  double dram_chance = 1;  // that a sector which misses L1 is not in L2 either
  double hot_sectors = 0;  // over which its atomics are spread

  double l2_bytes() const { return (load_sectors + store_sectors) * 32; }
  double dram_bytes() const { return load_dram_bytes + store_dram_bytes; }
};

struct TrafficSetting {
  double waves = 1;         // of blocks that the device holds at once
  double work = 1;          // what an average block does, as a share of what the sampled ones do
  double warm_sectors = 0;  // of the loaded ones, in L2 before the launch
};
LaunchTraffic launch_traffic(const LaunchReport& report, const Profile& profile,
                             const TrafficSetting& setting);

MemoryShare memory_share(const LaunchTraffic& traffic, const Profile& profile, double busy_sms);

}  // namespace vgpu
