// Lowering of branches, calls, barriers and operations between the lanes of a warp.
#include <algorithm>

#include "exec/cluster.h"
#include "exec/device_runtime.h"
#include "exec/lowering.h"
#include "exec/memory_ops.h"
#include "exec/warp_sync.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;

namespace {

struct WarpSyncName {
  const char* name;
  WarpSync what;
};

constexpr WarpSyncName kWarpSyncNames[] = {
    {"shfl.sync.up.b32", WarpSync::kShuffleUp},     {"shfl.sync.down.b32", WarpSync::kShuffleDown},
    {"shfl.sync.bfly.b32", WarpSync::kShuffleXor},  {"shfl.sync.idx.b32", WarpSync::kShuffleIndex},
    {"vote.sync.all.pred", WarpSync::kVoteAll},     {"vote.sync.any.pred", WarpSync::kVoteAny},
    {"vote.sync.uni.pred", WarpSync::kVoteUniform}, {"vote.sync.ballot.b32", WarpSync::kBallot},
    {"match.any.sync.b32", WarpSync::kMatchAny32},  {"match.any.sync.b64", WarpSync::kMatchAny64},
    {"match.all.sync.b32", WarpSync::kMatchAll32},  {"match.all.sync.b64", WarpSync::kMatchAll64},
    {"redux.sync.add.u32", WarpSync::kReduceAdd},   {"redux.sync.add.s32", WarpSync::kReduceAdd},
    {"redux.sync.min.u32", WarpSync::kReduceMinU},  {"redux.sync.max.u32", WarpSync::kReduceMaxU},
    {"redux.sync.min.s32", WarpSync::kReduceMinS},  {"redux.sync.max.s32", WarpSync::kReduceMaxS},
    {"redux.sync.and.b32", WarpSync::kReduceAnd},   {"redux.sync.or.b32", WarpSync::kReduceOr},
    {"redux.sync.xor.b32", WarpSync::kReduceXor},   {"elect.sync", WarpSync::kElect},
};

bool is_vote(WarpSync w) {
  return w >= WarpSync::kVoteAll && w <= WarpSync::kBallot;
}
bool has_pair(WarpSync w) {
  return (w >= WarpSync::kShuffleUp && w <= WarpSync::kShuffleIndex) || w == WarpSync::kMatchAll32 ||
         w == WarpSync::kMatchAll64 || w == WarpSync::kElect;
}

}  // namespace

// A control op other than a branch or an exit cannot carry a guard: it is jumped over instead.
void FunctionLowering::jump_over_when_guarded() {
  if (guard_ != 0) {
    VirtualOp& skip = emit_control(Control::kBranch, InstrClass::kControl);
    skip.op.guard_negated = !guard_negated_;
    skip.op.target = static_cast<uint64_t>(current_ + 1);
    guard_ = 0;
  }
}

void FunctionLowering::lower_branch(const ptx::Instruction& in) {
  const Operand& t = in.operands.at(0);
  const auto it = label_.find(t.name);
  if (it == label_.end()) throw NotImplemented{"label " + t.name + " is not in this function"};
  VirtualOp& v = emit_control(Control::kBranch, InstrClass::kControl);
  v.op.target = static_cast<uint64_t>(it->second);
}

void FunctionLowering::lower_branch_index(const ptx::Instruction& in) {
  const uint32_t index = source(in.operands.at(0), 4);
  const std::string& name = in.operands.at(1).name;
  const auto targets = std::find_if(fn_.branch_targets.begin(), fn_.branch_targets.end(),
                                    [&](const ptx::BranchTargets& b) { return b.name == name; });
  if (targets == fn_.branch_targets.end())
    throw NotImplemented{"branch targets " + name + " are not declared"};
  VirtualOp& v = emit_control(Control::kBranchIndex, InstrClass::kControl);
  v.op.src[0] = index;
  v.uses.push_back(index);
  v.list_is_slots = false;
  for (const std::string& label : targets->labels) {
    const auto it = label_.find(label);
    if (it == label_.end()) throw NotImplemented{"label " + label + " is not in this function"};
    v.list.push_back(static_cast<uint32_t>(it->second));
  }
  v.op.targets = v.list.size();
}

uint32_t FunctionLowering::param_slot(const std::string& name) {
  if (const auto it = areas_.find(name); it != areas_.end()) return it->second;
  for (const auto* group : {&fn_.variables, &fn_.params, &fn_.returns})
    for (const ptx::Variable& p : *group) {
      if (p.name != name || (group == &fn_.variables && p.space != ptx::Space::kParam)) continue;
      VirtualSlot s;
      s.kind = VirtualSlot::Kind::kArea;
      s.area_bytes = static_cast<uint32_t>(std::max<uint64_t>(4, p.bytes));
      slots_.push_back(s);
      return areas_[name] = static_cast<uint32_t>(slots_.size() - 1);
    }
  throw NotImplemented{"parameter " + name + " is not declared"};
}

// After layout: `areas_` then holds offsets instead of slots.
ParamArea FunctionLowering::area(const std::string& name) {
  for (const auto* group : {&fn_.params, &fn_.returns})
    for (const ptx::Variable& p : *group)
      if (p.name == name) return {areas_.at(name), static_cast<uint32_t>(std::max<uint64_t>(4, p.bytes))};
  return {};
}

void FunctionLowering::lower_call(const ptx::Instruction& in) {
  static const std::unordered_map<std::string_view, Builtin> builtins = {
      {"vprintf", kVprintf},
      {"__assertfail", kAssertFail},
      {"malloc", kMalloc},
      {"__nv_aligned_device_malloc", kAlignedMalloc},
      {"free", kFree}};
  const ptx::Call& call = fn_.calls.at(static_cast<size_t>(in.call));
  CallSite site;
  for (const std::string& a : call.arguments) {
    const uint32_t slot = param_slot(a);
    site.arguments.push_back({slot, slots_[slot].area_bytes});
  }
  for (const std::string& r : call.returns) {
    const uint32_t slot = param_slot(r);
    site.returns.push_back({slot, slots_[slot].area_bytes});
  }
  const Operand& callee = in.operands.at(0);
  uint32_t target = 0;
  if (callee.kind == OperandKind::kReg) {
    target = source(callee, 8);
  } else {
    site.callee = module_.function_index(callee.name);
    const auto b = builtins.find(callee.name);
    const bool defined =
        site.callee >= 0 && !module_.text().functions[static_cast<size_t>(site.callee)].is_declaration;
    if (!defined && b != builtins.end()) {
      site.builtin = b->second;
    } else if (!defined) {
      const std::string runtime = device_runtime_name(callee.name);
      if (runtime.empty()) throw NotDefined{callee.name};
      site.builtin = kDeviceRuntime;
      site.runtime_function = device_runtime_function(callee.name);
      if (site.runtime_function < 0) throw NotImplemented{runtime + " in device code"};
      kernel_.traits.asks_for_work = true;
      // The runtime API of device code takes from the same heap.
      kernel_.traits.uses_heap |= runtime == "cudaMalloc" || runtime == "cudaFree";
    }
    kernel_.traits.uses_heap |=
        site.builtin == kMalloc || site.builtin == kAlignedMalloc || site.builtin == kFree;
  }
  jump_over_when_guarded();
  VirtualOp& v = emit_control(Control::kCall, InstrClass::kControl);
  v.op.src[0] = target;
  if (target) v.uses.push_back(target);
  v.op.call = code_->calls.size();
  code_->calls.push_back(std::move(site));
}

void FunctionLowering::lower_return(const ptx::Instruction&) {
  emit_control(Control::kReturn, InstrClass::kControl);
}
void FunctionLowering::lower_exit(const ptx::Instruction&) {
  emit_control(Control::kExit, InstrClass::kControl);
}
void FunctionLowering::lower_trap(const ptx::Instruction&) {
  emit_control(Control::kTrap, InstrClass::kControl);
}

void FunctionLowering::lower_barrier(const ptx::Instruction& in) {
  if (in.opcode.starts_with("barrier.cluster.")) return lower_cluster_barrier(in);
  BarrierOp what = BarrierOp::kSync;
  bool warp = false;
  for (std::string_view t : split_opcode(in.opcode)) {
    if (t == "warp")
      warp = true;
    else if (t == "arrive")
      what = BarrierOp::kArrive;
    else if (t == "popc")
      what = BarrierOp::kCount;
    else if (t == "and")
      what = BarrierOp::kAnd;
    else if (t == "or")
      what = BarrierOp::kOr;
    else if (t != "aligned" && t != "bar" && t != "barrier" && t != "cta" && t != "sync" && t != "red" &&
             t != "u32" && t != "pred")
      throw NotImplemented{"modifier ." + std::string(t)};
  }
  if (warp) return lower_warp_sync(in);
  std::vector<Operand> operands = in.operands;
  uint32_t dst = 0, value = 0, count = 0;
  const bool reduces = what == BarrierOp::kCount || what == BarrierOp::kAnd || what == BarrierOp::kOr;
  if (reduces) {
    if (operands.size() < 3) throw NotImplemented{"its operands"};
    dst = destination(operands[0], what == BarrierOp::kCount ? 4 : 0);
    value = predicate_source(operands.back());
    operands.erase(operands.begin());
    operands.pop_back();
  }
  if (operands.empty() || operands.size() > 2) throw NotImplemented{"its operands"};
  const uint32_t id = source(operands[0], 4);
  if (operands.size() == 2) count = source(operands[1], 4);
  jump_over_when_guarded();
  VirtualOp& v = emit_control(Control::kBarrier, InstrClass::kBarrier);
  v.op.barrier = {what, count != 0, false};
  v.op.src[0] = id;
  v.op.src[1] = count;
  v.op.src[2] = value;
  v.op.dst = dst;
  for (uint32_t s : {id, count, value})
    if (s) v.uses.push_back(s);
  if (dst) v.defs.push_back(dst);
}

// barrier.cluster.arrive{.release|.relaxed}{.aligned} and barrier.cluster.wait{.acquire}{.aligned}
void FunctionLowering::lower_cluster_barrier(const ptx::Instruction& in) {
  require("sm_90");
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  const bool waits = parts.at(2) == "wait";
  for (size_t i = 3; i < parts.size(); ++i)
    if (parts[i] != "release" && parts[i] != "relaxed" && parts[i] != "acquire" && parts[i] != "aligned")
      throw NotImplemented{"modifier ." + std::string(parts[i])};
  if (!waits && parts[2] != "arrive") throw NotImplemented{"modifier ." + std::string(parts[2])};
  jump_over_when_guarded();
  VirtualOp& v = emit_control(Control::kBarrier, InstrClass::kBarrier);
  v.op.barrier = {waits ? BarrierOp::kClusterWait : BarrierOp::kClusterArrive, false,
                  std::ranges::find(parts, "relaxed") != parts.end()};
}

// mapa{.shared::cluster}.type d, address, rank and getctarank{.shared::cluster}.type d, address
void FunctionLowering::lower_cluster_address(const ptx::Instruction& in) {
  require("sm_90");
  const bool maps = in.opcode.starts_with("mapa"), wide = in.opcode.ends_with("u64");
  const int bytes = wide ? 8 : 4;
  const uint32_t d = destination(in.operands.at(0), maps ? bytes : 4);
  const uint32_t a = source(in.operands.at(1), bytes);
  const uint32_t rank = maps ? source(in.operands.at(2), 4) : 0;
  OpFn fn = maps ? map_to_block : rank_of_address;
  VirtualOp& v = emit(fn, fn, InstrClass::kInteger);
  v.op.dst = d;
  v.op.src[0] = a;
  v.op.src[1] = rank;
  v.op.flags |= static_cast<uint8_t>(wide ? kAddress64 : 0);
  v.defs.push_back(d);
  v.uses.push_back(a);
  if (maps) v.uses.push_back(rank);
}

void FunctionLowering::lower_warp_sync(const ptx::Instruction& in) {
  WarpSync what = WarpSync::kMeet;
  if (in.opcode != "bar.warp.sync") {
    const std::string spelled = canonical_opcode(in.opcode);
    const auto row = std::find_if(std::begin(kWarpSyncNames), std::end(kWarpSyncNames),
                                  [&](const WarpSyncName& n) { return spelled == canonical_opcode(n.name); });
    if (row == std::end(kWarpSyncNames)) throw NotImplemented{"this form"};
    what = row->what;
  }
  uint32_t dst = 0, dst2 = 0, src[3] = {0, 0, 0};
  size_t at = 0;
  if (what != WarpSync::kMeet) {
    const Operand& d = in.operands.at(at++);
    const int bytes = is_vote(what) && what != WarpSync::kBallot ? 0 : 4;
    if (d.kind == OperandKind::kPair) {
      if (!has_pair(what)) throw NotImplemented{"a pair as its destination"};
      dst = destination(d.items.at(0), bytes);
      dst2 = destination(d.items.at(1), 0);
    } else {
      dst = destination(d, bytes);
    }
  }
  const size_t sources = in.operands.size() - at;
  if (sources < 1 || sources > 4) throw NotImplemented{"its operands"};
  for (size_t i = 0; i + 1 < sources; ++i) {
    const Operand& o = in.operands[at + i];
    const int bytes = what == WarpSync::kMatchAny64 || what == WarpSync::kMatchAll64 ? 8 : 4;
    src[i] = is_vote(what) ? predicate_source(o) : source(o, bytes);
  }
  const uint32_t mask = source(in.operands.back(), 4);
  jump_over_when_guarded();
  VirtualOp& v = emit_control(Control::kWarpSync, InstrClass::kWarp);
  // Slot 0 would be scratch, but a predicate there is never read.
  v.op.warp_sync = {what, dst2 != 0};
  v.op.dst = dst;
  v.op.dst2 = dst2;
  for (int i = 0; i < 3; ++i) v.op.src[i] = src[i];
  v.op.src[3] = mask;
  for (uint32_t s : {src[0], src[1], src[2], mask})
    if (s) v.uses.push_back(s);
  for (uint32_t d : {dst, dst2})
    if (d) v.defs.push_back(d);
}

void FunctionLowering::lower_activemask(const ptx::Instruction& in) {
  const uint32_t d = destination(in.operands.at(0), 4);
  VirtualOp& v = emit(active_mask, active_mask, InstrClass::kWarp);
  v.op.dst = d;
  v.defs.push_back(d);
}

void FunctionLowering::lower_nanosleep(const ptx::Instruction&) {
  emit(sleep_briefly, sleep_briefly, InstrClass::kOther);
}

}  // namespace vgpu
