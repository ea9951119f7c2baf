// A device profile: the handful of numbers that make one GPU model differ from another.
#pragma once

#include <string>

namespace vgpu {

struct Profile {
  std::string id, name;
  int cc_major = 9, cc_minor = 0;
  int sms = 132;
  int max_threads_per_sm = 2048, max_blocks_per_sm = 32, max_warps_per_sm = 64;
  int registers_per_sm = 65536, registers_per_block = 65536, register_granularity = 256;
  int shared_per_block = 48 * 1024, shared_per_block_optin = 227 * 1024, shared_per_sm = 228 * 1024;
  int reserved_shared_per_block = 1024, shared_granularity = 128;
  double memory_bytes = 0, l2_bytes = 0;
  double clock_ghz = 1.98;
  double dram_bytes_per_second = 4.27e12;  // copy bandwidth, read + written
  double dram_one_way_gain = 0.11;         // by which only reading, or only writing, is faster
  double l2_bytes_per_second = 5.5e12;
  double fp32_lanes_per_sm = 128;
  double tensor_cycles_per_mma = 6.6;  // m16n8k16 on one scheduler
  double launch_floor_us = 2.66, launch_gap_us = 1.544, graph_gap_us = 0.6;
  double start_spread_us = 0.2;  // by which the last of all SMs begins later than one alone
  double dispatch_blocks_per_second = 1.66e9;
  double dram_latency_cycles = 767;
  double dram_access_bytes = 64;  // read or written at once
  double l2_latency_cycles = 262;
  double sm_bytes_per_cycle = 64;  // between one SM and L2
  int memory_clock_khz = 3201000, memory_bus_bits = 6144;
  double host_link_bytes_per_second = 5.5e10;  // copies between host and device
};

// Reads one profile out of profiles.json. Throws std::runtime_error with the names there are.
Profile load_profile(const std::string& json_path, const std::string& id);

}  // namespace vgpu
