#include "checks/launch_findings.h"

#include <cmath>
#include <cstdio>
#include <map>

#include "checks/async_findings.h"
#include "checks/barrier_advice.h"
#include "checks/report.h"

namespace vgpu::checks {
namespace {

struct Standing {
  uint32_t warps = 0;
  Mask lanes = 0;
};

// Where each warp of the block stands.
std::string standings(const Block& b) {
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

std::string reason_text(HangReason reason, const Options& options) {
  switch (reason) {
    case HangReason::kCpuTime:
      return "";  // time_limit()
    case HangReason::kInstructions:
      return "it has run " + std::to_string(options.max_warp_instructions) + " warp instructions";
    case HangReason::kThreadsPoll:
      return "its threads have been polling with nothing left to change what they poll";
    case HangReason::kBlocksPoll:
      return "its blocks have been polling with nothing left to change what they poll";
    case HangReason::kBlocksNotStarted:
      return "its resident blocks wait for blocks that can start only when these end";
  }
  return "";
}

// "120 s", "0.5 s".
std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g s", seconds);
  return text;
}

}  // namespace

const Op& op_at(const Split& s) {
  return s.waiting ? *s.waiting : s.frame->code->ops[s.frame->code->blocks[s.block].end - 1];
}

void stack_overflow(Warp& w, const Op& op, int lane, int depth) {
  report(w, op, lane, Mistake::kStackOverflow, [&](Finding& f) {
    f.message = "the stack overflows: calls are nested " + std::to_string(depth) + " deep";
    f.advice = "Check that the recursion ends; deep recursion is better written as a loop.";
  });
}

void bad_function_pointer(Warp& w, const Op& op, int lane) {
  report(w, op, lane, Mistake::kBadFunctionPointer, [&](Finding& f) {
    f.message = "a call through a function pointer that points to no function of this signature";
    f.advice = "Take the pointer's value from device code: a host function's address means nothing here.";
  });
}

void trapped(Warp& w, const Op& op, int lane) {
  report(w, op, lane, Mistake::kTrap, [&](Finding& f) {
    f.message = "the kernel trapped";
    f.advice = "__trap() or an unreachable path was executed: look at the condition that leads here.";
  });
}

void assertion_failed(Warp& w, const Op& op, int lane, const std::string& what) {
  report(w, op, lane, Mistake::kAssertion, [&](Finding& f) {
    f.message = "assertion failed: " + what;
    f.advice = "An assert in device code ends the launch: look at the values that make it false.";
  });
}

// A launch that may only be slow: how far it has come, and how long the rest takes at this rate.
void time_limit(Warp& w, const Op& op, int lane) {
  report(w, op, lane, Mistake::kTimeLimit, [&](Finding& f) {
    const Launch& launch = *w.block->launch;
    const uint64_t done = launch.blocks_done, blocks = launch.request.grid.count();
    const double limit = w.block->options->max_seconds;
    f.message = "the launch was stopped at its limit of " + seconds_text(limit) + " of CPU time, with " +
                std::to_string(done) + " of " + count_of(blocks, "block") + " done; block " +
                dim_text(w.block->index) + " has " + standings(*w.block);
    if (done == 0) {
      f.advice =
          "No block has ended: if a loop may have no end, look at its exit condition. If the kernel is only "
          "slow, ";
    } else {
      const double needed = limit * static_cast<double>(blocks) / static_cast<double>(done);
      f.advice = "At this rate the launch needs about " + seconds_text(std::ceil(needed)) + ": ";
    }
    f.advice +=
        "run a smaller problem, or raise the limit (--max-seconds of ./course run, max_seconds in "
        "VGPU_OPTIONS).";
  });
}

void endless(Warp& w, const Op& op, int lane, HangReason reason) {
  if (reason == HangReason::kCpuTime) return time_limit(w, op, lane);
  report(w, op, lane, Mistake::kHang, [&](Finding& f) {
    f.message = "block " + dim_text(w.block->index) +
                " does not end: " + reason_text(reason, *w.block->options) + ": " + standings(*w.block) +
                mbarrier_standings(*w.block);
    f.advice = guess_at_waits(*w.block).advice;
    if (f.advice.empty())
      f.advice = "Look at the loop's exit condition, and at who is to set what it waits for.";
    if (reason == HangReason::kInstructions)
      f.advice += " If the kernel is only long, --max-seconds of ./course run allows it more.";
  });
}

void deadlock(Warp& w, const Op& op, int lane) {
  report(w, op, lane, Mistake::kHang, [&](Finding& f) {
    f.message = "all threads wait for each other: " + standings(*w.block);
    f.advice = "Check how many threads each barrier expects, and that all of them come to it.";
  });
}

void child_refused(Warp& w, const Op& op, int lane, const std::string& why) {
  report(w, op, lane, Mistake::kChildRefused, [&](Finding& f) {
    f.message = "what " + who(w, lane) + " asks for here fails, and is not done: " + why;
    f.advice = "Check cudaGetLastError() behind it, in device code.";
  });
}

void unknown_condition(Warp& w, const Op& op, int lane) {
  child_refused(w, op, lane, "no graph has a condition with this handle");
}

Finding unsupported(const Unsupported& what) {
  Finding f;
  f.mistake = Mistake::kUnsupported;
  const std::string line = " (PTX line " + std::to_string(what.ptx_line) + ")";
  if (!what.needs.empty()) {
    f.message = what.what + line;
    f.advice = "Build it for that architecture: ./course run --arch " + what.needs +
               " FILE.cu (nvcc: -gencode arch=compute_" + what.needs.substr(3) + ",code=" + what.needs + ").";
  } else if (what.undefined) {
    f.message =
        "the kernel uses " + what.what + ", which no file of the program defines for the device" + line;
    f.advice =
        "Define it in this file. If another file does, link their device code: ./course run with --nvcc "
        "-rdc=true.";
  } else {
    f.message = "the virtual GPU does not implement " + what.what + line;
    f.advice = "Write it another way, or run this kernel on a real GPU (--device gpu).";
  }
  return f;
}

}  // namespace vgpu::checks
