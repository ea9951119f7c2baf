// A kernel that does not end.
#include "checks/launch_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "exec/scheduler.h"

namespace vgpu {

void report_hang(Block& b, HangReason reason) {
  for (Warp& w : b.warps)
    for (const Split& s : w.splits)
      if (s.state == SplitState::kReady) {
        stop_launch(b, cuda::kLaunchTimeout);
        checks::endless(w, checks::op_at(s), first_lane(s.mask), reason);
        return;
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
