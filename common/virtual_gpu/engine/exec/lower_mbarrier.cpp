// Lowering of mbarrier.*, of cp.async.mbarrier.arrive and of the fences around them; and what a program must
// have been built for.
#include <algorithm>
#include <charconv>

#include "exec/async_detail.h"
#include "exec/lowering.h"
#include "exec/mbarrier_ops.h"
#include "exec/memory_ops.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;

namespace {

bool has_part(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// Modifiers that mbarrier instructions share and that change nothing here.
void refuse_other_parts(const std::vector<std::string_view>& parts, size_t from,
                        std::initializer_list<std::string_view> known) {
  static constexpr std::string_view kShared[] = {"shared",  "shared::cta", "shared::cluster", "b64",    "cta",
                                                 "cluster", "release",     "acquire",         "relaxed"};
  for (size_t i = from; i < parts.size(); ++i)
    if (std::ranges::find(kShared, parts[i]) == std::end(kShared) &&
        std::ranges::find(known, parts[i]) == known.end())
      throw NotImplemented{"modifier ." + std::string(parts[i])};
}

}  // namespace

// `arch` is "sm_90", or "sm_90a" for what that architecture alone has.
void FunctionLowering::require(std::string_view arch) const {
  const std::string& target = module_.text().target;
  auto number = [](std::string_view name) {
    int n = 0;
    if (name.starts_with("sm_")) std::from_chars(name.data() + 3, name.data() + name.size(), n);
    return n;
  };
  const bool fits = arch.ends_with('a') ? target == arch : number(target) >= number(arch);
  if (!fits) throw NeedsArchitecture{std::string(arch)};
}

// An operand in v.list; addresses may be in 32 or 64 bits.
Place FunctionLowering::place(const Operand& o, VirtualOp& v, int bytes) {
  Place p;
  uint32_t slot;
  if (o.kind == OperandKind::kAddress) {
    VirtualOp scratch;
    p.offset = address(o, scratch, ptx::Space::kGeneric);
    slot = scratch.op.src[0];
    p.wide = scratch.op.flags & kAddress64;
  } else {
    slot = source(o, bytes);
    p.wide = bytes == 8;
  }
  p.at = static_cast<int8_t>(v.list.size());
  v.list.push_back(slot);
  v.uses.push_back(slot);
  return p;
}

void FunctionLowering::lower_mbarrier(const ptx::Instruction& in) {
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  if (parts.size() < 2) throw NotImplemented{"this form"};
  const std::string_view what = parts[1];
  if (what == "pending_count") {
    const uint32_t d = destination(in.operands.at(0), 4), s = source(in.operands.at(1), 8);
    VirtualOp& v = emit(mbarrier_pending_count, mbarrier_pending_count, InstrClass::kInteger);
    v.op.dst = d;
    v.op.src[0] = s;
    v.defs.push_back(d);
    v.uses.push_back(s);
    return;
  }
  MbarrierDetail d;
  VirtualOp v;
  OpFn fn = nullptr;
  uint32_t dst = 0;
  size_t at = 0;
  const size_t count = in.operands.size();
  d.releases = !has_part(parts, "relaxed");
  d.acquires = d.releases;
  auto next_value = [&](int bytes) { return at < count ? place(in.operands[at++], v, bytes) : Place{}; };
  if (what == "init" || what == "inval") {
    refuse_other_parts(parts, 2, {});
    d.what = what == "init" ? MbarrierOp::kInit : MbarrierOp::kInval;
    fn = what == "init" ? mbarrier_init : mbarrier_inval;
    d.address = place(in.operands.at(at++), v, 8);
    if (what == "init") d.value = place(in.operands.at(at++), v, 4);
  } else if (what == "expect_tx" || what == "complete_tx") {
    require("sm_90");
    refuse_other_parts(parts, 2, {});
    d.what = what == "expect_tx" ? MbarrierOp::kExpect : MbarrierOp::kComplete;
    fn = mbarrier_bytes;
    d.address = place(in.operands.at(at++), v, 8);
    d.value = place(in.operands.at(at++), v, 4);
  } else if (what == "arrive" || what == "arrive_drop") {
    refuse_other_parts(parts, 2, {"expect_tx", "noComplete"});
    d.what = MbarrierOp::kArrive;
    d.drops = what == "arrive_drop";
    d.expects = has_part(parts, "expect_tx");
    d.no_complete = has_part(parts, "noComplete");
    if (d.expects || has_part(parts, "shared::cluster")) require("sm_90");
    fn = mbarrier_arrive;
    if (in.operands.at(0).kind != OperandKind::kAddress) dst = destination(in.operands[at++], 8);
    d.address = place(in.operands.at(at++), v, 8);
    d.value = next_value(4);
    if ((d.expects || d.no_complete) && d.value.at < 0) throw NotImplemented{"its operands"};
  } else if (what == "test_wait" || what == "try_wait") {
    refuse_other_parts(parts, 2, {"parity"});
    if (what == "try_wait") require("sm_90");
    d.what = MbarrierOp::kTestWait;
    d.by_parity = has_part(parts, "parity");
    fn = mbarrier_wait;
    dst = destination(in.operands.at(at++), 0);
    d.address = place(in.operands.at(at++), v, 8);
    d.value = place(in.operands.at(at++), v, d.by_parity ? 4 : 8);
    next_value(4);  // how long it may take: here a wait always comes back at once
  } else {
    throw NotImplemented{"this form"};
  }
  if (at != count) throw NotImplemented{"more operands than this form takes"};
  VirtualOp& made = emit(fn, std::move(v));
  made.op.mbarrier = keep(d);
  made.op.dst = dst;
  if (dst) made.defs.push_back(dst);
}

// cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [barrier]
void FunctionLowering::lower_copy_arrive(const ptx::Instruction& in) {
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  refuse_other_parts(parts, 4, {"noinc"});
  MbarrierDetail d;
  d.what = MbarrierOp::kCopyArrive;
  d.no_increment = has_part(parts, "noinc");
  VirtualOp v;
  d.address = place(in.operands.at(0), v, 8);
  emit(mbarrier_copy_arrive, std::move(v)).op.mbarrier = keep(d);
}

// fence.proxy.async, fence.mbarrier_init, … True when it was one of these.
bool FunctionLowering::lower_async_fence(const ptx::Instruction& in) {
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  if (parts.size() >= 3 && parts[1] == "proxy") {
    if (parts[2] == "alias") {
      emit(nothing, nothing, InstrClass::kFence);
      return true;
    }
    require("sm_90");
    const bool async = parts[2] == "async" || parts[2].starts_with("async::");
    if (!async && !parts[2].starts_with("tensormap"))
      throw NotImplemented{"modifier ." + std::string(parts[2])};
    if (!async) {
      lower_map_fence(in);
      return true;
    }
    // The spaces that it is for: both, where none is named.
    const bool shared = in.opcode.find("shared::c") != std::string_view::npos;
    const bool global = has_part(parts, "global");
    emit(proxy_fence, proxy_fence, InstrClass::kFence).op.groups =
        uint64_t{shared || !global} | uint64_t{global || !shared} << 1;
    return true;
  }
  if (parts.size() >= 2 && parts[1] == "mbarrier_init") {
    require("sm_90");
    emit(mbarrier_init_fence, mbarrier_init_fence, InstrClass::kFence);
    return true;
  }
  return false;
}

}  // namespace vgpu
