// A kernel that does not end.
#include "checks/barrier_advice.h"
#include "checks/launch_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "exec/scheduler.h"

namespace vgpu {

void report_hang(Block& b, HangReason reason) {
  if (b.launch->is_sampled) {  // it may wait for a block that was left out, or be longer than its share
    b.is_abandoned = true;
    return;
  }
  bring_in_rest(b);
  const size_t first = checks::guess_at_waits(b).warp;
  for (size_t i = 0; i < b.warps.size(); ++i) {
    Warp& w = b.warps[(first + i) % b.warps.size()];
    for (const Split& s : w.splits)
      if (s.state == SplitState::kReady) {
        stop_launch(b, cuda::kLaunchTimeout);
        checks::endless(w, checks::op_at(s), first_lane(s.mask), reason);
        return;
      }
  }
  report_deadlock(b);
}

void report_deadlock(Block& b) {
  for (Warp& w : b.warps)
    for (const Split& s : w.splits)
      if (s.state == SplitState::kAtBarrier || s.state == SplitState::kAtWarpSync) {
        stop_launch(b, cuda::kLaunchTimeout);
        checks::deadlock(w, *s.waiting, first_lane(s.mask));
        return;
      }
}

}  // namespace vgpu
