// Control flow and register layout of a lowered function: basic blocks, where divergent lanes meet again,
// and which values may share a place in the register file. Few places keep a warp's registers in cache.
#include <algorithm>
#include <cstring>

#include "exec/lowering.h"

namespace vgpu {

namespace {

constexpr uint32_t kScratchBytes = 256;  // one lane array of the widest kind, at offset 0

uint32_t lane_array_bytes(int bytes) {
  return bytes == 0 ? 4 : static_cast<uint32_t>(bytes) * kLanes;
}

using Bits = std::vector<uint64_t>;
bool test(const Bits& b, uint32_t i) {
  return b[i / 64] >> (i % 64) & 1;
}
void set(Bits& b, uint32_t i) {
  b[i / 64] |= 1ull << (i % 64);
}

}  // namespace

std::vector<uint32_t> successors(const Code& code, uint32_t b) {
  const BasicBlock& bb = code.blocks[b];
  std::vector<uint32_t> out;
  const bool last = b + 1 == code.blocks.size();
  if (!bb.has_control) {
    if (!last) out.push_back(b + 1);
    return out;
  }
  const Op& op = code.ops[bb.end - 1];
  switch (static_cast<Control>(op.control)) {
    case Control::kBranch:
      if (op.guard != 0 && !last) out.push_back(b + 1);
      out.push_back(static_cast<uint32_t>(op.target));
      break;
    case Control::kBranchIndex:
      if (op.guard != 0 && !last) out.push_back(b + 1);
      for (uint64_t i = 0; i < op.targets; ++i) out.push_back(op.list[i]);
      break;
    case Control::kReturn:
    case Control::kExit:
    case Control::kTrap:
      if (op.guard != 0 && !last) out.push_back(b + 1);
      break;
    default:
      if (!last) out.push_back(b + 1);
  }
  return out;
}

void FunctionLowering::build_blocks(Code& code) {
  const size_t n = ops_.size();
  std::vector<bool> leader(n + 1, false);
  leader[0] = true;
  auto op_of = [&](uint64_t instruction) { return static_cast<size_t>(first_op_[instruction]); };
  for (size_t i = 0; i < n; ++i) {
    const Op& op = ops_[i].op;
    if (op.control != 0) leader[i + 1] = true;
    if (op.control == static_cast<uint8_t>(Control::kBranch)) leader[op_of(op.target)] = true;
    if (op.control == static_cast<uint8_t>(Control::kBranchIndex))
      for (uint32_t t : ops_[i].list) leader[op_of(t)] = true;
  }
  std::vector<uint32_t> block_of(n + 1, 0);
  for (size_t i = 0; i < n; ++i) {
    if (leader[i]) {
      if (!code.blocks.empty()) code.blocks.back().end = static_cast<uint32_t>(i);
      code.blocks.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(n), kNoBlock, false});
    }
    block_of[i] = static_cast<uint32_t>(code.blocks.size() - 1);
  }
  // The code behind Op::list must not move any more.
  code.lists.resize(n);
  code.ops.resize(n);
  for (size_t i = 0; i < n; ++i) {
    VirtualOp& v = ops_[i];
    if (v.op.control == static_cast<uint8_t>(Control::kBranch)) v.op.target = block_of[op_of(v.op.target)];
    if (v.op.control == static_cast<uint8_t>(Control::kBranchIndex))
      for (uint32_t& t : v.list) t = block_of[op_of(t)];
    code.lists[i] = v.list;
    v.op.list = code.lists[i].data();
    code.ops[i] = v.op;
  }
  for (BasicBlock& bb : code.blocks) bb.has_control = code.ops[bb.end - 1].control != 0;
}

// Liveness by blocks, then one interval a register and a linear scan. Lanes of a diverged warp never
// disturb each other: a lane's place is only reused along that lane's own path.
void FunctionLowering::assign_slots(Code& code) {
  const uint32_t slots = static_cast<uint32_t>(slots_.size());
  const size_t words = (slots + 63) / 64, blocks = code.blocks.size();
  std::vector<Bits> use(blocks, Bits(words)), def(blocks, Bits(words)), in(blocks, Bits(words)),
      out(blocks, Bits(words));
  auto is_register = [&](uint32_t s) { return slots_[s].kind == VirtualSlot::Kind::kRegister; };
  auto visit_uses = [&](const VirtualOp& v, auto f) {
    for (uint32_t s : v.uses)
      if (is_register(s)) f(s);
    if (v.op.guard) f(v.op.guard);
    // A guarded write leaves the old value in other lanes: it reads as well.
    if (v.op.guard)
      for (uint32_t s : v.defs)
        if (is_register(s)) f(s);
  };
  for (size_t b = 0; b < blocks; ++b)
    for (uint32_t i = code.blocks[b].begin; i < code.blocks[b].end; ++i) {
      visit_uses(ops_[i], [&](uint32_t s) {
        if (!test(def[b], s)) set(use[b], s);
      });
      for (uint32_t s : ops_[i].defs)
        if (is_register(s)) set(def[b], s);
    }
  std::vector<std::vector<uint32_t>> next(blocks);
  for (size_t b = 0; b < blocks; ++b) next[b] = successors(code, static_cast<uint32_t>(b));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks; b-- > 0;) {
      for (uint32_t s : next[b])
        for (size_t w = 0; w < words; ++w) out[b][w] |= in[s][w];
      for (size_t w = 0; w < words; ++w) {
        const uint64_t v = use[b][w] | (out[b][w] & ~def[b][w]);
        if (v != in[b][w]) {
          in[b][w] = v;
          changed = true;
        }
      }
    }
  }
  constexpr uint32_t kNever = ~0u;
  std::vector<uint32_t> from(slots, kNever), to(slots, 0);
  auto touch = [&](uint32_t s, uint32_t at) {
    from[s] = std::min(from[s], at);
    to[s] = std::max(to[s], at);
  };
  for (size_t b = 0; b < blocks; ++b) {
    const BasicBlock& bb = code.blocks[b];
    for (uint32_t s = 1; s < slots; ++s) {
      if (test(in[b], s)) touch(s, bb.begin);
      if (test(out[b], s)) touch(s, bb.end);
    }
    for (uint32_t i = bb.begin; i < bb.end; ++i) {
      visit_uses(ops_[i], [&](uint32_t s) { touch(s, i); });
      // Forms with several results may write one before they have read all sources: keep them apart.
      const bool apart = !ops_[i].list.empty() || ops_[i].op.dst2 != 0;
      for (uint32_t s : ops_[i].defs)
        if (is_register(s)) touch(s, apart ? i : i + 1), touch(s, i + 1);
    }
  }
  std::vector<uint32_t> offset(slots, 0);
  uint32_t top = kScratchBytes;
  auto place = [&](uint32_t bytes, uint32_t align) {
    top = (top + align - 1) / align * align;
    const uint32_t at = top;
    top += bytes;
    return at;
  };
  code.const_begin = top;
  for (uint32_t s = 1; s < slots; ++s) {
    const VirtualSlot& v = slots_[s];
    if (v.kind != VirtualSlot::Kind::kConstant) continue;
    offset[s] = place(lane_array_bytes(v.bytes), v.bytes == 0 ? 4 : 64);
    code.constants.push_back({offset[s], v.bytes, v.value});
  }
  top = (top + 63) / 64 * 64;
  code.const_end = top;
  for (uint32_t s = 1; s < slots; ++s) {
    const VirtualSlot& v = slots_[s];
    if (v.kind == VirtualSlot::Kind::kSpecial) {
      offset[s] = place(lane_array_bytes(v.bytes), 64);
      code.specials.push_back({offset[s], v.bytes, v.special, v.value});
    } else if (v.kind == VirtualSlot::Kind::kArea) {
      offset[s] = place((v.area_bytes + 3) / 4 * 4 * kLanes, 64);
    }
  }
  code.registers_begin = top;
  std::vector<uint32_t> order;
  for (uint32_t s = 1; s < slots; ++s)
    if (is_register(s) && from[s] != kNever) order.push_back(s);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return std::tie(from[a], a) < std::tie(from[b], b); });
  std::vector<uint32_t> free_places[9];
  std::vector<std::pair<uint32_t, uint32_t>> active;  // heap of (end, slot), earliest end first
  const auto later = std::greater<std::pair<uint32_t, uint32_t>>();
  int live_words = 0;
  for (uint32_t s : order) {
    while (!active.empty() && active.front().first < from[s]) {
      const uint32_t done = active.front().second;
      std::pop_heap(active.begin(), active.end(), later);
      active.pop_back();
      free_places[slots_[done].bytes].push_back(offset[done]);
      live_words -= std::max(1, slots_[done].bytes / 4) * (slots_[done].bytes != 0);
    }
    const int bytes = slots_[s].bytes;
    std::vector<uint32_t>& pool = free_places[bytes];
    if (pool.empty()) {
      offset[s] = place(lane_array_bytes(bytes), bytes == 0 ? 4 : 64);
    } else {
      offset[s] = pool.back();
      pool.pop_back();
    }
    live_words += std::max(1, bytes / 4) * (bytes != 0);
    code.live_registers = std::max(code.live_registers, live_words);
    active.push_back({to[s], s});
    std::push_heap(active.begin(), active.end(), later);
  }
  code.reg_bytes = (top + 63) / 64 * 64;
  for (uint32_t s = 1; s < slots; ++s)
    if (is_register(s) && test(in[0], s))
      code.undefined.push_back({offset[s], lane_array_bytes(slots_[s].bytes)});
  for (size_t i = 0; i < ops_.size(); ++i) {
    Op& op = code.ops[i];
    op.dst = offset[op.dst];
    op.dst2 = offset[op.dst2];
    for (uint32_t& s : op.src) s = offset[s];
    op.guard = op.guard ? offset[op.guard] : 0;
    if (ops_[i].list_is_slots && op.control != static_cast<uint8_t>(Control::kBranchIndex))
      for (uint32_t& s : code.lists[i]) s = offset[s];
  }
  code.value_places.resize(slots);
  for (uint32_t s = 1; s < slots; ++s)
    if (is_register(s)) code.value_places[s] = {offset[s], slots_[s].bytes};
  code.live_values = std::move(in);
  for (CallSite& call : code.calls) {
    for (ParamArea& a : call.arguments) a.offset = offset[a.offset];
    for (ParamArea& a : call.returns) a.offset = offset[a.offset];
  }
  for (auto& [name, slot] : areas_) slot = offset[slot];
  // What every frame starts with, ready to be copied.
  code.const_image.assign(code.const_end - code.const_begin, 0);
  for (const ConstantSlot& c : code.constants) {
    uint8_t* at = code.const_image.data() + (c.offset - code.const_begin);
    if (c.bytes == 0) {
      const uint32_t mask = static_cast<uint32_t>(c.value);
      std::memcpy(at, &mask, 4);
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) std::memcpy(at + lane * c.bytes, &c.value, c.bytes);
  }
}

// Immediate post-dominators by the iterative method on the reversed graph; block `n` is the exit.
void FunctionLowering::post_dominators(Code& code) const {
  const uint32_t n = static_cast<uint32_t>(code.blocks.size());
  std::vector<std::vector<uint32_t>> next(n), previous(n + 1);
  for (uint32_t b = 0; b < n; ++b) {
    next[b] = successors(code, b);
    bool leaves = next[b].empty();
    if (code.blocks[b].has_control) {
      const Control c = static_cast<Control>(code.ops[code.blocks[b].end - 1].control);
      leaves |= c == Control::kReturn || c == Control::kExit || c == Control::kTrap;
    }
    if (leaves) next[b].push_back(n);
    for (uint32_t s : next[b]) previous[s].push_back(b);
  }
  // Post-order of the reversed graph from the exit.
  std::vector<uint32_t> number(n + 1, kNoBlock), order;
  std::vector<std::pair<uint32_t, size_t>> stack{{n, 0}};
  std::vector<bool> seen(n + 1, false);
  seen[n] = true;
  while (!stack.empty()) {
    auto& [b, i] = stack.back();
    if (i < previous[b].size()) {
      const uint32_t p = previous[b][i++];
      if (!seen[p]) {
        seen[p] = true;
        stack.push_back({p, 0});
      }
    } else {
      number[b] = static_cast<uint32_t>(order.size());
      order.push_back(b);
      stack.pop_back();
    }
  }
  std::vector<uint32_t> ipdom(n + 1, kNoBlock);
  ipdom[n] = n;
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b]) a = ipdom[a];
      while (number[b] < number[a]) b = ipdom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = order.size(); i-- > 0;) {
      const uint32_t b = order[i];
      if (b == n) continue;
      uint32_t best = kNoBlock;
      for (uint32_t s : next[b]) {
        if (number[s] == kNoBlock || ipdom[s] == kNoBlock) continue;
        best = best == kNoBlock ? s : meet(best, s);
      }
      if (best != ipdom[b]) {
        ipdom[b] = best;
        changed = true;
      }
    }
  }
  for (uint32_t b = 0; b < n; ++b)
    code.blocks[b].reconverge = ipdom[b] == n || number[b] == kNoBlock ? kNoBlock : ipdom[b];
}

}  // namespace vgpu
