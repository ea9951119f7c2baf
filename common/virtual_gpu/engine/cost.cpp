#include "cost.h"

#include "cost/estimate.h"
#include "cost/explain.h"
#include "cost/sample.h"

namespace vgpu {

ModelledLaunch model_launch(const LaunchReport& report, const Profile& profile, L2Residency& l2,
                            int timeline_warps) {
  ModelledLaunch model;
  // The first launch of a call finds neither code nor parameters in any cache: one trip to DRAM.
  model.floor_seconds =
      profile.launch_floor_us * 1e-6 + profile.dram_latency_cycles / (profile.clock_ghz * 1e9);
  model.gap_seconds = profile.launch_gap_us * 1e-6;
  if (report.sample != nullptr) {
    const LaunchSample& sample = *report.sample;
    Estimate estimate = estimate_launch(
        report, profile, {l2.present(*sample.loads), l2.present(*sample.stores)}, timeline_warps);
    l2.touch(*sample.loads, *sample.stores);
    model.body_seconds = estimate.seconds;
    model.round_trips = estimate.round_trips;
    model.terms = estimate.terms;
    model.limiter = longest_term(estimate);
    model.sentence = explain(estimate, report, profile);
    model.timeline = std::move(estimate.timeline);
  }
  model.seconds = model.floor_seconds + model.body_seconds;
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
