// The time of one launch from its sample: which part is replayed, and what that says about the whole.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cost/timeline.h"
#include "cost/traffic_share.h"
#include "device/profile.h"
#include "exec/launch.h"

namespace vgpu {

struct Estimate {
  double seconds = 0;
  int round_trips = 0;
  double round_trip_seconds = 0;  // one of them
  double waves = 1;
  std::optional<uint64_t> straggler;  // a block that bounds the launch by what it alone has to do
  LaunchTraffic traffic;
  std::vector<std::pair<const char*, double>> terms;
  // How much longer an instruction takes, on average over whole blocks, than in the part that was replayed.
  double unlike_replayed = 1;
  Timeline timeline;  // where it was asked for
};

// `cold_code` are the basic blocks whose machine code is in no cache. With `timeline_warps`, so many warps of
// one block are shown in the estimate's timeline.
Estimate estimate_launch(const LaunchReport& report, const Profile& profile, const L2Before& l2,
                         const std::set<uint32_t>& cold_code, int timeline_warps = 0);

}  // namespace vgpu
