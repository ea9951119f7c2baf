// Activations of functions: register files, local memory, calls and returns.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "checks/launch_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "exec/access.h"
#include "exec/scheduler.h"

namespace vgpu {

namespace {

constexpr uint32_t kDeepest = 1000;  // nested calls; the hardware's default stack is far smaller

uint64_t special_value(const Warp& w, const Frame& frame, const SpecialSlot& s, int lane) {
  const Block& b = *w.block;
  const Launch& l = *b.launch;
  const uint32_t thread = b.thread_of(w, lane);
  const Dim3 t = thread_index(l, thread);
  const uint32_t bit = 1u << lane;
  switch (s.what) {
    case Special::kTidX:
      return t.x;
    case Special::kTidY:
      return t.y;
    case Special::kTidZ:
      return t.z;
    case Special::kNtidX:
      return l.request.block.x;
    case Special::kNtidY:
      return l.request.block.y;
    case Special::kNtidZ:
      return l.request.block.z;
    case Special::kCtaidX:
      return b.index.x;
    case Special::kCtaidY:
      return b.index.y;
    case Special::kCtaidZ:
      return b.index.z;
    case Special::kNctaidX:
      return l.request.grid.x;
    case Special::kNctaidY:
      return l.request.grid.y;
    case Special::kNctaidZ:
      return l.request.grid.z;
    case Special::kLaneId:
      return static_cast<uint64_t>(lane);
    case Special::kWarpId:
      return w.id;
    case Special::kNWarpId:
      return static_cast<uint64_t>(l.env.profile.max_warps_per_sm);
    case Special::kSmId:
      return b.linear % static_cast<uint64_t>(l.env.profile.sms);
    case Special::kNSmId:
      return static_cast<uint64_t>(l.env.profile.sms);
    case Special::kGridId:
      return static_cast<uint64_t>(l.request.index + 1);
    case Special::kLaneMaskEq:
      return bit;
    case Special::kLaneMaskLt:
      return bit - 1;
    case Special::kLaneMaskLe:
      return bit | (bit - 1);
    case Special::kLaneMaskGt:
      return ~(bit | (bit - 1)) & kAllLanes;
    case Special::kLaneMaskGe:
      return ~(bit - 1) & kAllLanes;
    case Special::kDynamicSmem:
      return l.request.dynamic_shared;
    case Special::kTotalSmem:
    case Special::kAggrSmem:
      return l.request.dynamic_shared + static_cast<uint32_t>(l.request.kernel->static_shared);
    case Special::kGridWorkspaceLow:
      return l.grid_workspace & 0xffffffffu;
    case Special::kGridWorkspaceHigh:
      return l.grid_workspace >> 32;
    case Special::kClusterCtaidX:
      return b.index.x % l.cluster.x;
    case Special::kClusterCtaidY:
      return b.index.y % l.cluster.y;
    case Special::kClusterCtaidZ:
      return b.index.z % l.cluster.z;
    case Special::kClusterNctaidX:
      return l.cluster.x;
    case Special::kClusterNctaidY:
      return l.cluster.y;
    case Special::kClusterNctaidZ:
      return l.cluster.z;
    case Special::kClusterIdX:
      return b.index.x / l.cluster.x;
    case Special::kClusterIdY:
      return b.index.y / l.cluster.y;
    case Special::kClusterIdZ:
      return b.index.z / l.cluster.z;
    case Special::kNClusterIdX:
      return l.request.grid.x / l.cluster.x;
    case Special::kNClusterIdY:
      return l.request.grid.y / l.cluster.y;
    case Special::kNClusterIdZ:
      return l.request.grid.z / l.cluster.z;
    case Special::kClusterRank:
      return b.cluster != nullptr ? b.cluster_rank : 0;
    case Special::kClusterBlocks:
      return l.cluster.count();
    case Special::kIsCluster:
      return l.cluster.count() > 1;
    case Special::kLocalBase:
    case Special::kLocalBase32:
      return frame.local_base + s.addend;
  }
  return 0;
}

bool changes_with_block(Special s) {
  return s == Special::kCtaidX || s == Special::kCtaidY || s == Special::kCtaidZ || s == Special::kSmId ||
         s == Special::kClusterCtaidX || s == Special::kClusterCtaidY || s == Special::kClusterCtaidZ ||
         s == Special::kClusterIdX || s == Special::kClusterIdY || s == Special::kClusterIdZ ||
         s == Special::kClusterRank;
}

void grow_local(Block& b, uint32_t warp, uint32_t bytes) {
  if (b.local_size[warp] >= bytes) return;
  // Word-interleaved by lane, so growing keeps what is there.
  b.local[warp] =
      static_cast<uint8_t*>(std::realloc(b.local[warp], static_cast<size_t>(bytes + 3) / 4 * 4 * kLanes));
  b.local_written[warp].resize(bytes, 0);
  b.local_size[warp] = bytes;
}

// A function's local arrays start out unwritten each time it is entered.
void fresh_local(Warp& w, const Frame& frame, Mask lanes) {
  Block& b = *w.block;
  const uint32_t end = frame.local_base + frame.code->local_bytes;
  grow_local(b, w.id, end);
  for (uint32_t i = frame.local_base; i < end; ++i) b.local_written[w.id][i] &= ~lanes;
  for (uint32_t word = frame.local_base / 4; word < (end + 3) / 4; ++word)
    for (Mask m = lanes; m != 0; m &= m - 1)
      std::memset(b.local[w.id] + word * (4 * kLanes) + static_cast<uint32_t>(first_lane(m)) * 4, 0, 4);
}

void copy_area(Warp& w, const uint8_t* from_regs, const ParamArea& from, uint8_t* to_regs,
               const ParamArea& to, Mask lanes) {
  const uint32_t words = (std::min(from.bytes, to.bytes) + 3) / 4;
  for (uint32_t word = 0; word < words; ++word) {
    const uint32_t* s = reinterpret_cast<const uint32_t*>(from_regs + from.offset) + word * kLanes;
    uint32_t* d = reinterpret_cast<uint32_t*>(to_regs + to.offset) + word * kLanes;
    for (Mask m = lanes; m != 0; m &= m - 1) d[first_lane(m)] = s[first_lane(m)];
    if (w.undefined.any())
      follow_copied_word(w, reinterpret_cast<const uint8_t*>(s), reinterpret_cast<const uint8_t*>(d), lanes);
  }
}

}  // namespace

void refresh_specials(Warp& w, Frame& frame, bool all) {
  for (const SpecialSlot& s : frame.code->specials) {
    const bool by_block = changes_with_block(s.what);
    if (!all && !by_block) continue;
    if (by_block && s.bytes == 4) {
      const uint32_t v = static_cast<uint32_t>(special_value(w, frame, s, 0));
      std::fill_n(reinterpret_cast<uint32_t*>(frame.regs + s.offset), kLanes, v);
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t v = special_value(w, frame, s, lane);
      std::memcpy(frame.regs + s.offset + static_cast<uint32_t>(lane) * s.bytes, &v, s.bytes);
    }
  }
}

Frame* enter_frame(Warp& w, const Code& code, Frame* caller, const CallSite* site, Mask lanes) {
  Frame* frame = nullptr;
  for (Frame* f : w.frames)
    if (f->lanes == 0 && f->code == &code && f != caller) {
      frame = f;
      break;
    }
  const uint32_t local_base =
      caller ? (caller->local_base + caller->code->local_bytes + 15) / 16 * 16 : kLocalBegin;
  const bool fresh = frame == nullptr || frame->local_base != local_base;
  if (frame == nullptr) {
    frame = new Frame;
    frame->regs = static_cast<uint8_t*>(std::aligned_alloc(64, code.reg_bytes));
    std::memset(frame->regs, 0, code.reg_bytes);
    std::copy(code.const_image.begin(), code.const_image.end(), frame->regs + code.const_begin);
    frame->code = &code;
    w.frames.push_back(frame);
  } else {
    // What a register holds that nobody has set must not depend on the block that was here before.
    for (const auto& [offset, bytes] : code.undefined) std::memset(frame->regs + offset, 0, bytes);
    if (w.undefined.any()) w.undefined.clear_frame(frame->regs, frame->regs + code.reg_bytes);
  }
  frame->caller = caller;
  frame->site = site;
  frame->lanes = lanes;
  frame->depth = caller ? caller->depth + 1 : 0;
  frame->local_base = local_base;
  fresh_local(w, *frame, lanes);
  refresh_specials(w, *frame, fresh);
  return frame;
}

void leave_frame(Warp&, Frame* frame, Mask lanes) {
  frame->lanes &= ~lanes;
}

bool call_function(Warp& w, int split, const Op& op) {
  const Split here = w.splits[static_cast<size_t>(split)];
  Launch& launch = *w.block->launch;
  const CallSite& site = here.frame->code->calls[op.call];
  if (site.builtin != kNotBuiltin) {
    if (!run_builtin(w, site, here.mask, op)) return false;
    enter_block(w, split, here.block + 1);
    return true;
  }
  if (here.frame->depth >= kDeepest) {
    stop_launch(*w.block, cuda::kIllegalAddress);
    checks::stack_overflow(w, op, first_lane(here.mask), kDeepest);
    return false;
  }
  // Lanes that call different functions through a pointer part here and meet after the call.
  const int join = add_call_join(w, here.frame, here.block + 1, here.mask, here.join);
  Mask left = here.mask;
  bool first = true;
  while (left != 0) {
    int callee = site.callee;
    Mask lanes = left;
    if (callee < 0) {
      const uint64_t* target = lanes_in<uint64_t>(w, op.src[0]);
      const uint64_t address = target[first_lane(left)];
      lanes = 0;
      for (Mask m = left; m != 0; m &= m - 1)
        if (target[first_lane(m)] == address) lanes |= 1u << first_lane(m);
      callee = address >= kFunctionBase ? static_cast<int>((address - kFunctionBase) / 16) : -1;
    }
    const Code* code = callee >= 0 && static_cast<size_t>(callee) < launch.kernel.codes.size()
                           ? launch.kernel.codes[static_cast<size_t>(callee)].get()
                           : nullptr;
    if (code == nullptr || code->params.size() != site.arguments.size() ||
        code->returns.size() != site.returns.size()) {
      stop_launch(*w.block, cuda::kIllegalInstruction);
      checks::bad_function_pointer(w, op, first_lane(lanes));
      return false;
    }
    uint8_t* caller_regs = here.frame->regs;
    Frame* frame = enter_frame(w, *code, here.frame, &site, lanes);
    for (size_t i = 0; i < code->params.size(); ++i)
      copy_area(w, caller_regs, site.arguments[i], frame->regs, code->params[i], lanes);
    if (first) {
      Split& s = w.splits[static_cast<size_t>(split)];
      s.mask = lanes;
      s.frame = frame;
      s.block = 0;
      s.join = join;
    } else {
      add_split(w, lanes, 0, frame, join);
    }
    first = false;
    left &= ~lanes;
  }
  return true;
}

void return_from(Warp& w, int split, Mask lanes) {
  Split& s = w.splits[static_cast<size_t>(split)];
  Frame* frame = s.frame;
  for (size_t i = 0; i < frame->code->returns.size(); ++i)
    copy_area(w, frame->regs, frame->code->returns[i], frame->caller->regs, frame->site->returns[i], lanes);
  leave_frame(w, frame, lanes);
  // Joins inside the function are behind these lanes; the call's own one gathers them.
  int join = s.join;
  while (join >= 0 && w.joins[static_cast<size_t>(join)].frame == frame)
    join = w.joins[static_cast<size_t>(join)].parent;
  const int inner = s.join;
  const bool whole = s.mask == lanes;
  const uint32_t next = join >= 0 ? w.joins[static_cast<size_t>(join)].block : 0;
  if (whole) {
    s.frame = frame->caller;
    s.join = join;
    leave_joins(w, inner, lanes, join);
    enter_block(w, split, next);
    return;
  }
  s.mask &= ~lanes;
  leave_joins(w, inner, lanes, join);
  const int other = add_split(w, lanes, next, frame->caller, join);
  enter_block(w, other, next);
}

}  // namespace vgpu
