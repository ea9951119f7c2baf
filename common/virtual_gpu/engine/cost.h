// Modelled time: what a launch or a copy would take on the profile's device.
//
// A launch takes the launch floor plus its body. The body comes from replaying the traces of a few blocks on
// one SM with its share of the memory system (cost/replay.h); beside it stand plain bounds, each of them a
// thing the device cannot do faster, and the longest of those is named as what limits the launch:
//   dram      64-byte pieces read and written, part-written sectors read first / copy bandwidth
//   l2        32-byte sectors that miss L1, and all that are stored / L2 bandwidth
//   issue     machine instructions, one per cycle and scheduler
//   fp32, integer, special, double, tensor    the pipes of the schedulers
//   shared    passes over shared memory, one per cycle and SM
//   lsu       128-byte lines looked up, one per cycle and SM
//   atomics   passes over the busiest sectors of atomics, one per cycle and L2 slice
//   code      machine code that is in no cache yet
//   dispatch  blocks / rate at which blocks are handed out
//   latency   waves of resident blocks x the time of one block that has the device for itself, or the time of
//             the heaviest block where that is longer
// Always label it "modelled": docs/cost-model.md says what it can judge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cost/l2_residency.h"
#include "cost/timeline.h"
#include "device/profile.h"
#include "exec/launch.h"

namespace vgpu {

// A launch without what launching costs.
struct ModelledBody {
  double seconds = 0;
  std::string limiter;  // name of the longest term; empty when the launch was not modelled
  std::string sentence;
  int round_trips = 0;  // to L2 or DRAM, each waiting for the one before, on the longest chain of a warp
  std::vector<std::pair<const char*, double>> terms;  // seconds
};

struct ModelledLaunch {
  ModelledBody body;                     // from what earlier launches left in L2
  std::optional<ModelledBody> in_graph;  // as one of many such calls in a graph, where that was asked for
  double floor_seconds = 0;              // what an empty launch shows between two events
  double gap_seconds = 0;                // what each further launch of a sequence adds beside its body
  double seconds = 0;                    // floor and body
  double unlike_replayed = 1;            // Estimate::unlike_replayed
  Timeline timeline;                     // where it was asked for
};

struct CallsInGraph {
  int count = 0;     // 0: no graph is modelled
  double bytes = 0;  // that each call holds
};

// `l2` knows what earlier launches left behind, and learns of this one. With `timeline_warps`, so many warps
// of one block are shown.
ModelledLaunch model_launch(const LaunchReport& report, const Profile& profile, L2Residency& l2,
                            const CallsInGraph& calls = {}, int timeline_warps = 0);

// Seconds to move bytes inside the device (read and written) or over the host link.
double model_device_copy(uint64_t bytes, const Profile& profile);
double model_host_copy(uint64_t bytes, const Profile& profile);
double model_fill(uint64_t bytes, const Profile& profile);

}  // namespace vgpu
