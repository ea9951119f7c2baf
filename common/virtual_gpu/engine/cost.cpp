#include "cost.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "cost/estimate.h"
#include "cost/explain.h"
#include "cost/sample.h"

namespace vgpu {

namespace {

constexpr double kSectorBytes = 32;

ModelledBody body_of(const Estimate& estimate, const LaunchReport& report, const Profile& profile) {
  return {estimate.seconds, longest_term(estimate), explain(estimate, report, profile), estimate.round_trips,
          estimate.terms};
}

// The memory of all calls is filled before their graph runs. What fits into half of L2 is still there; beyond
// that less and less, since what the far half holds is kept in the near one too. What the filling left behind
// is written to DRAM when a call needs its place.
L2Before before_graph(const LaunchSample& sample, const Profile& profile, const CallsInGraph& calls) {
  const double loads = static_cast<double>(sample.loads->count());
  const double stores = static_cast<double>(sample.stores->count());
  const double filled = calls.count * calls.bytes;
  const double kept = std::clamp((profile.l2_bytes - filled) / (profile.l2_bytes / 2), 0.0, 1.0);
  const double only_loaded = kSectorBytes * static_cast<double>(sample.loads->count_without(*sample.stores));
  const double displaced = (1 - kept) * only_loaded * std::min(1.0, profile.l2_bytes / filled);
  return {kept * loads, kept * stores, displaced, kept, 1 - kept};
}

std::set<uint32_t> blocks_entered(const LaunchSample& sample) {
  std::set<uint32_t> entered;
  for (const auto& trace : sample.traces)
    for (const WarpTrace& warp : trace->warps)
      for (const BlockEvent& event : warp.blocks) entered.insert(event.block);
  return entered;
}

std::set<uint32_t> missing(const std::set<uint32_t>& wanted, const std::set<uint32_t>& there) {
  std::set<uint32_t> rest;
  std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                      std::inserter(rest, rest.end()));
  return rest;
}

}  // namespace

ModelledLaunch model_launch(const LaunchReport& report, const Profile& profile, L2Residency& l2,
                            const CallsInGraph& calls, int timeline_warps) {
  ModelledLaunch model;
  // The first launch of a call finds neither code nor parameters in any cache: one trip to DRAM.
  model.floor_seconds =
      profile.launch_floor_us * 1e-6 + profile.dram_latency_cycles / (profile.clock_ghz * 1e9);
  model.gap_seconds = profile.launch_gap_us * 1e-6;
  if (report.sample != nullptr) {
    const LaunchSample& sample = *report.sample;
    const L2Before before{static_cast<double>(l2.present(*sample.loads)),
                          static_cast<double>(l2.present(*sample.stores))};
    const std::set<uint32_t> entered = blocks_entered(sample);
    const Estimate estimate = estimate_launch(report, profile, before,
                                              missing(entered, l2.code_of(&sample.kernel)), timeline_warps);
    model.unlike_replayed = estimate.unlike_replayed;
    l2.touch(*sample.loads, *sample.stores);
    l2.touch_code(&sample.kernel, entered);
    model.body = body_of(estimate, report, profile);
    model.timeline = estimate.timeline;
    if (calls.count > 0)
      model.in_graph = body_of(estimate_launch(report, profile, before_graph(sample, profile, calls), {}),
                               report, profile);
  }
  model.seconds = model.floor_seconds + model.body.seconds;
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
