#include "cost.h"

#include <algorithm>

namespace vgpu {
namespace {

constexpr double kSectorBytes = 32;
constexpr double kSchedulersPerSm = 4;
constexpr double kSpecialLanesPerSm = 16;
constexpr double kBlockStartCycles = 100;
constexpr double kBarrierCycles = 25;

double of_class(const Counters& c, InstrClass cls) {
  return static_cast<double>(c.by_class[static_cast<size_t>(cls)]);
}

// The least cycles from the first to the last instruction of one block.
double block_cycles(const LaunchReport& report, double warps, const Profile& profile) {
  const Counters& c = report.total;
  const bool loads = c.global_load_requests + c.async_requests + c.global_atomic_requests > 0;
  return kBlockStartCycles + (loads ? profile.dram_latency_cycles : 0) +
         (static_cast<double>(c.barriers) * kBarrierCycles + static_cast<double>(c.warp_instructions)) /
             warps;
}

}  // namespace

const std::array<const char*, kCostTerms>& cost_term_names() {
  static const std::array<const char*, kCostTerms> names = {
      "dram", "l2", "issue", "fp32", "special", "tensor", "shared", "latency", "dispatch"};
  return names;
}

ModelledLaunch model_launch(const LaunchReport& report, const Profile& profile) {
  const Counters& c = report.total;
  const double hertz = profile.clock_ghz * 1e9;
  const double blocks = static_cast<double>(report.grid.count());
  const double warps = blocks * static_cast<double>((report.block.count() + 31) / 32);
  const double busy = std::min<double>(profile.sms, blocks);
  const double resident = static_cast<double>(profile.sms) * std::max(1, report.occupancy_blocks);
  const double sectors = static_cast<double>(c.global_load_sectors + c.global_store_sectors +
                                             c.global_atomic_sectors + c.async_sectors);
  const double distinct = static_cast<double>(report.distinct_load_sectors + report.distinct_store_sectors);
  const double wavefronts =
      static_cast<double>(c.shared_load_wavefronts + c.shared_store_wavefronts + c.shared_atomic_wavefronts);

  ModelledLaunch model;
  model.terms = {
      distinct * kSectorBytes / profile.dram_bytes_per_second,
      sectors * kSectorBytes / profile.l2_bytes_per_second,
      static_cast<double>(c.warp_instructions) / (kSchedulersPerSm * busy * hertz),
      of_class(c, InstrClass::kFloat32) * kLanes / (profile.fp32_lanes_per_sm * busy * hertz),
      of_class(c, InstrClass::kSpecialFunction) * kLanes / (kSpecialLanesPerSm * busy * hertz),
      static_cast<double>(c.matrix_instructions) * profile.tensor_cycles_per_mma /
          (kSchedulersPerSm * busy * hertz),
      wavefronts / (busy * hertz),
      std::max(1.0, blocks / resident) * block_cycles(report, warps, profile) / hertz,
      blocks / profile.dispatch_blocks_per_second,
  };
  const auto longest = std::max_element(model.terms.begin(), model.terms.end());
  model.limit = cost_term_names()[static_cast<size_t>(longest - model.terms.begin())];
  model.body_seconds = *longest;
  model.seconds = profile.launch_floor_us * 1e-6 + *longest;
  return model;
}

double model_device_copy(uint64_t bytes, const Profile& profile) {
  return 2.0 * static_cast<double>(bytes) / profile.dram_bytes_per_second;
}

double model_host_copy(uint64_t bytes, const Profile& profile) {
  return static_cast<double>(bytes) / profile.host_link_bytes_per_second;
}

double model_fill(uint64_t bytes, const Profile& profile) {
  return static_cast<double>(bytes) / profile.dram_bytes_per_second;
}

}  // namespace vgpu
