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
  double fill_dram_bytes = 0;       // read because only parts of sectors were stored
  double displaced_dram_bytes = 0;  // written because others' stores lose their place in L2
  double written_out = 0;           // of the stores, those that are written while others read
  double dram_chance = 1;           // that a sector which misses L1 is not in L2 either
  double stored_by_others = 0;      // of the distinct sectors, those that other SMs left in L2
  double load_lines = 0;            // requests to L2, of up to 128 bytes each
  double store_lines = 0;
  double store_parts = 0;    // of the stored sectors, those that come in parts
  double bulk_loads = 0;     // of the loaded sectors, the share that the copy engine asks for
  double bulk_weight = 1;    // of such a sector
  double atomic_cycles = 0;  // of the L2 slices that update
  double atomic_slices = 0;  // that share them

  double l2_seconds(const Profile& profile) const;
  // DRAM that turns between reading and writing loses time.
  double dram_bytes_per_second(const Profile& profile) const;
  double dram_bytes() const {
    return load_dram_bytes + store_dram_bytes + fill_dram_bytes + displaced_dram_bytes;
  }
};

// What a request costs L2, in sectors of a load that takes whole lines.
double l2_load_weight(double lines, double sectors);
double l2_store_weight(double lines, double sectors, double parts);

// What L2 holds before a launch: so many of the sectors that it touches, and what others stored and it
// displaces, which DRAM must write meanwhile.
struct L2Before {
  double loads = 0, stores = 0;
  double displaced_bytes = 0;
  double stored_by_others = 0;  // of the sectors that a launch loads, those that other SMs left there
  double full = 0;              // 1: it is full of stores, and each further one is at another's cost
};

struct TrafficSetting {
  double waves = 1;  // of blocks that the device holds at once
  double work = 1;   // what an average block does, as a share of what the sampled ones do
  L2Before l2;
};
LaunchTraffic launch_traffic(const LaunchReport& report, const Profile& profile,
                             const TrafficSetting& setting);

MemoryShare memory_share(const LaunchTraffic& traffic, const Profile& profile, double busy_sms);

}  // namespace vgpu
