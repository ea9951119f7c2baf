#include "cost/timeline.h"

#include "cost/plan.h"

namespace vgpu {
namespace {

const char* plain_name(Pipe pipe) {
  switch (pipe) {
    case Pipe::kTensor:
      return "tensor";
    case Pipe::kMemory:
      return "shuffle";
    case Pipe::kControl:
      return "control";
    default:
      return "math";
  }
}

const char* kind_name(const PlannedOp& op) {
  switch (op.kind) {
    case PlanKind::kGlobalLoad:
      return "global load";
    case PlanKind::kGlobalStore:
      return "global store";
    case PlanKind::kGlobalAtomic:
      return "global atomic";
    case PlanKind::kAsyncCopy:
      return "async copy";
    case PlanKind::kAsyncCommit:
      return "async commit";
    case PlanKind::kAsyncWait:
      return "async wait";
    case PlanKind::kSharedLoad:
      return "shared load";
    case PlanKind::kSharedStore:
      return "shared store";
    case PlanKind::kSharedAtomic:
      return "shared atomic";
    case PlanKind::kLocalLoad:
    case PlanKind::kLocalStore:
      return "spill";
    case PlanKind::kBarrier:
      return "barrier";
    case PlanKind::kFence:
      return "fence";
    case PlanKind::kConstantLoad:
    case PlanKind::kPlain:
      break;
  }
  return plain_name(op.cost.pipe);
}

}  // namespace

int Timeline::add(int warp, const PlannedOp& op, double wanted, double issued, double done) {
  cut = cut || spans.size() >= kMostSpans;
  if (cut) return -1;
  spans.push_back({warp, kind_name(op), op.op, 0, wanted, issued, done});
  return static_cast<int>(spans.size()) - 1;
}

}  // namespace vgpu
