// Modelled time: what a launch or a copy would take on the profile's device, from counts alone.
//
// A launch takes the launch floor plus its body, and the body is the longest of these bounds, each of them
// a thing the device cannot do faster:
//   dram      distinct 32-byte sectors read and written / copy bandwidth
//   l2        all sectors of global loads, stores, atomics and cp.async / L2 bandwidth
//   issue     warp instructions / (4 schedulers x busy SMs x clock)
//   fp32      32 x single-precision warp instructions / (lanes of the busy SMs x clock)
//   special   special-function warp instructions, 16 lanes a cycle and SM
//   tensor    mma instructions x cycles each / (4 schedulers x busy SMs x clock)
//   shared    shared-memory wavefronts, one a cycle and SM
//   latency   waves of resident blocks x the least a block can take: its start, one trip to DRAM if it loads
//             anything, its barriers, and its instructions one a cycle
//   dispatch  blocks / rate at which blocks are handed out
// "Busy" SMs are as many as there are blocks, up to all. The model knows nothing of dependences between
// instructions, of caches beyond "distinct" against "all", or of overlap between kernels: it says what limits
// a kernel and which of two kernels moves less, not what a stopwatch would show. Always label it "modelled".
#pragma once

#include <array>
#include <cstdint>

#include "device/profile.h"
#include "exec/launch.h"

namespace vgpu {

constexpr size_t kCostTerms = 9;

struct ModelledLaunch {
  double body_seconds = 0;                 // without what launching costs
  double seconds = 0;                      // with the launch floor, as a pair of events around it would show
  const char* limit = "";                  // name of the longest term
  std::array<double, kCostTerms> terms{};  // in the order of cost_term_names()
};

const std::array<const char*, kCostTerms>& cost_term_names();

ModelledLaunch model_launch(const LaunchReport& report, const Profile& profile);

// Seconds to move bytes inside the device (read and written) or over the host link.
double model_device_copy(uint64_t bytes, const Profile& profile);
double model_host_copy(uint64_t bytes, const Profile& profile);
double model_fill(uint64_t bytes, const Profile& profile);

}  // namespace vgpu
