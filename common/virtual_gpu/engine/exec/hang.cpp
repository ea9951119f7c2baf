// A kernel that does not end: where each warp stands.
#include <map>

#include "checks/report.h"
#include "exec/scheduler.h"

namespace vgpu {

namespace {

struct Standing {
  uint32_t warps = 0;
  Mask lanes = 0;
};

const Op& op_at(const Split& s) {
  if (s.waiting) return *s.waiting;
  // The end of the block that runs next: in a loop, most often the condition.
  const BasicBlock& bb = s.frame->code->blocks[s.block];
  return s.frame->code->ops[bb.end - 1];
}

std::string warps_text(uint32_t warps) {
  std::string t = lanes_text(warps);  // the same ranges, another noun
  t.replace(0, 4, "warp");
  return t;
}

std::string standings(Block& b) {
  std::map<std::string, Standing> where;
  for (const Warp& w : b.warps) {
    for (const Split& s : w.splits) {
      if (s.state == SplitState::kFree) continue;
      const char* how = s.state == SplitState::kAtBarrier    ? "waiting at the barrier "
                        : s.state == SplitState::kAtWarpSync ? "waiting for other lanes at "
                                                             : "running at ";
      Standing& at = where[how + place_text(*b.launch, op_at(s).index)];
      at.warps |= 1u << w.id;
      at.lanes |= s.mask;
    }
    if (w.live() == 0) where["exited"].warps |= 1u << w.id;
  }
  std::string text;
  for (const auto& [how, at] : where) {
    if (!text.empty()) text += "; ";
    text += warps_text(at.warps);
    if (at.lanes != kAllLanes && at.lanes != 0) text += " (" + lanes_text(at.lanes) + ")";
    text += " " + how;
  }
  return text;
}

void stop_hung(Block& b, Warp& w, const Op& op, int lane, const std::string& message,
               const std::string& advice) {
  stop_launch(b, 702);  // cudaErrorLaunchTimeout
  report(w, op, lane, FindingKind::kHang, kNoOther, 0, [&](Finding& f) {
    f.message = message + ": " + standings(b);
    f.advice = advice;
  });
}

}  // namespace

void report_hang(Block& b, const std::string& why) {
  for (Warp& w : b.warps)
    for (const Split& s : w.splits)
      if (s.state == SplitState::kReady) {
        stop_hung(b, w, op_at(s), first_lane(s.mask),
                  "block (" + std::to_string(b.index.x) + "," + std::to_string(b.index.y) + "," +
                      std::to_string(b.index.z) + ") does not end: " + why,
                  "Look at the loop's exit condition, and at who is to set what it waits for.");
        return;
      }
  report_deadlock(b);
}

void report_deadlock(Block& b) {
  for (Warp& w : b.warps)
    for (const Split& s : w.splits)
      if (s.state == SplitState::kAtBarrier || s.state == SplitState::kAtWarpSync) {
        stop_hung(b, w, *s.waiting, first_lane(s.mask), "all threads wait for each other",
                  "Check how many threads each barrier is told to expect, and that all of them come to it.");
        return;
      }
}

}  // namespace vgpu
