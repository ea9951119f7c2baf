#include "cost/plan.h"

#include <algorithm>
#include <unordered_map>

#include "cost/machine_order.h"
#include "exec/async_detail.h"
#include "exec/bulk_ops.h"
#include "exec/mbarrier_ops.h"
#include "exec/memory_ops.h"
#include "exec/module.h"
#include "exec/warp_sync.h"
#include "exec/wgmma.h"

namespace vgpu {
namespace {

using Memory = ScheduleInput::Memory;

bool is_space(const Op& op, ptx::Space space) {
  return op.space == static_cast<uint8_t>(space);
}

// Those of Hopper's asynchronous units; kPlain where it is none of theirs that the model knows.
PlanKind async_kind(const Op& op, std::string_view opcode) {
  constexpr struct {
    std::string_view prefix;
    PlanKind kind;
  } kKinds[] = {
      {"mbarrier.arrive", PlanKind::kArrive},
      {"mbarrier.try_wait", PlanKind::kPhaseWait},
      {"mbarrier.test_wait", PlanKind::kPhaseWait},
      {"cp.async.bulk.commit_group", PlanKind::kBulkCommit},
      {"cp.async.bulk.wait_group", PlanKind::kBulkWait},
      {"cp.async.bulk.prefetch", PlanKind::kPlain},
      {"cp.async.bulk", PlanKind::kBulkLoad},
      {"wgmma.mma_async", PlanKind::kProduct},
      {"wgmma.commit_group", PlanKind::kProductCommit},
      {"wgmma.wait_group", PlanKind::kProductWait},
  };
  // One instruction can be several ops: those before the copy or the product widen its operands.
  if (opcode.starts_with("cp.async.bulk") && op.fn[1] != bulk_copy && op.fn[1] != bulk_commit &&
      op.fn[1] != bulk_wait)
    return PlanKind::kPlain;
  if (opcode.starts_with("mbarrier") && op.cls != InstrClass::kOther) return PlanKind::kPlain;
  for (const auto& k : kKinds)
    if (opcode.starts_with(k.prefix))
      return k.kind == PlanKind::kBulkLoad && op.bulk->kind == BulkKind::kStore ? PlanKind::kBulkStore
                                                                                : k.kind;
  return PlanKind::kPlain;
}

PlanKind barrier_kind(const Op& op) {
  const BarrierOp what = op.barrier.what;
  if (what >= BarrierOp::kClusterArrive) return PlanKind::kBarrier;
  if (what == BarrierOp::kArrive) return PlanKind::kArrive;
  return op.barrier.counted ? PlanKind::kMeet : PlanKind::kBarrier;
}

PlanKind kind_of(const Op& op, std::string_view opcode) {
  if (const PlanKind kind = async_kind(op, opcode); kind != PlanKind::kPlain) return kind;
  switch (op.cls) {
    case InstrClass::kLoadGlobal:
      return PlanKind::kGlobalLoad;
    case InstrClass::kStoreGlobal:
      return PlanKind::kGlobalStore;
    case InstrClass::kLoadShared:
      return PlanKind::kSharedLoad;
    case InstrClass::kStoreShared:
      return PlanKind::kSharedStore;
    case InstrClass::kLoadLocal:
      return PlanKind::kLocalLoad;
    case InstrClass::kStoreLocal:
      return PlanKind::kLocalStore;
    case InstrClass::kMatrixLoad: {
      const bool stores = opcode.starts_with("stmatrix") || opcode.starts_with("wmma.store");
      const bool global = opcode.starts_with("wmma") && !is_space(op, ptx::Space::kShared);
      if (global) return stores ? PlanKind::kGlobalStore : PlanKind::kGlobalLoad;
      return stores ? PlanKind::kSharedStore : PlanKind::kSharedLoad;
    }
    case InstrClass::kAtomic:
      return is_space(op, ptx::Space::kShared) ? PlanKind::kSharedAtomic : PlanKind::kGlobalAtomic;
    case InstrClass::kAsyncCopy:
      if (op.fn[1] == async_copy) return PlanKind::kAsyncCopy;
      return op.fn[1] == async_commit ? PlanKind::kAsyncCommit : PlanKind::kAsyncWait;
    case InstrClass::kBarrier:
      return barrier_kind(op);
    case InstrClass::kFence:
      return opcode.starts_with("wgmma") ? PlanKind::kPlain : PlanKind::kFence;
    default:
      return PlanKind::kPlain;
  }
}

Memory memory_of(const Op& op, PlanKind kind, std::string_view opcode, uint32_t base) {
  Memory m;
  const bool generic = is_space(op, ptx::Space::kGeneric) && kind != PlanKind::kAsyncCopy;
  switch (kind) {
    case PlanKind::kGlobalLoad:
      m.reads_global = true;
      m.reads_shared = generic;
      m.read_only = opcode.find(".nc") != std::string_view::npos;
      break;
    case PlanKind::kGlobalStore:
      m.writes_global = true;
      m.writes_shared = generic;
      break;
    case PlanKind::kGlobalAtomic:
      m.reads_global = m.writes_global = true;
      m.reads_shared = m.writes_shared = generic;
      break;
    case PlanKind::kAsyncCopy:
      m.reads_global = m.writes_shared = true;
      break;
    case PlanKind::kSharedLoad:
      m.reads_shared = true;
      break;
    case PlanKind::kSharedStore:
      m.writes_shared = true;
      break;
    case PlanKind::kSharedAtomic:
      m.reads_shared = m.writes_shared = true;
      break;
    case PlanKind::kLocalLoad:
    case PlanKind::kLocalStore:
      m.local = true;
      break;
    case PlanKind::kAsyncCommit:
    case PlanKind::kAsyncWait:
    case PlanKind::kBarrier:
    case PlanKind::kMeet:
    case PlanKind::kArrive:
    case PlanKind::kPhaseWait:
    case PlanKind::kBulkLoad:
    case PlanKind::kBulkStore:
    case PlanKind::kBulkCommit:
    case PlanKind::kBulkWait:
    case PlanKind::kProduct:
    case PlanKind::kProductCommit:
    case PlanKind::kProductWait:
    case PlanKind::kFence:
      m.fence = true;
      break;
    case PlanKind::kConstantLoad:
      break;
    case PlanKind::kPlain:
      m.fence = opcode.starts_with("bar.warp") || opcode.starts_with("wgmma");
      break;
  }
  if (m.fence) return m;
  m.fence |= (op.flags & (kPolls | kReleases)) != 0 && has_event(kind) && op.cls != InstrClass::kBarrier;
  // Copies have two addresses, and the rows of a matrix one each: nothing distinguishes them.
  if (kind != PlanKind::kAsyncCopy && op.cls != InstrClass::kMatrixLoad && has_event(kind)) {
    const bool atomic = op.cls == InstrClass::kAtomic;
    m.base = base;
    m.offset = static_cast<int64_t>(op.access.offset);
    m.bytes = atomic ? op.atomic.bytes : uint32_t{op.access.bytes} * op.access.vec;
  }
  return m;
}

// Ops of a branch that ptxas turns into predicated instructions; none may be a program, as divisions are.
constexpr uint32_t kMostPredicated = 10;
constexpr float kProgram = 10;            // machine instructions
constexpr uint32_t kLongestChain = 2048;  // ops

// Which blocks follow which in straight code: what follows in any case, and short branches over one block.
class Chains {
 public:
  Chains(const Code& code, const KernelCode& kernel)
      : code_(code), kernel_(kernel), jumps_(code.blocks.size(), 0), linked_(code.blocks.size(), false) {
    for (const Op& op : code.ops) {
      if (op.control == static_cast<uint8_t>(Control::kBranch)) ++jumps_[op.target];
      if (op.control == static_cast<uint8_t>(Control::kBranchIndex))
        for (uint64_t i = 0; i < op.targets; ++i) jumps_[op.list[i]] += 2;
    }
  }

  // The blocks after `head`; empty when it belongs to the chain of an earlier one.
  std::vector<KernelPlan::Link> after(uint32_t head) {
    std::vector<KernelPlan::Link> links;
    if (linked_[head]) return links;
    uint32_t at = head;
    while (at + 1 < code_.blocks.size() && code_.blocks[at].end - code_.blocks[head].begin < kLongestChain) {
      if (falls_through(at) && jumps_[at + 1] == 0) {
        links.push_back({++at, false});
      } else if (skips_one(at)) {
        links.push_back({at + 1, true});
        links.push_back({at += 2, false});
      } else {
        break;
      }
    }
    for (const KernelPlan::Link& link : links) linked_[link.block] = true;
    return links;
  }

 private:
  const Op& last(uint32_t block) const { return code_.ops[code_.blocks[block].end - 1]; }
  bool falls_through(uint32_t block) const {
    if (!code_.blocks[block].has_control) return true;
    const Control control = static_cast<Control>(last(block).control);
    return control == Control::kWarpSync || control == Control::kProductWait;
  }
  bool skips_one(uint32_t block) const {
    if (block + 2 >= code_.blocks.size() || !code_.blocks[block].has_control) return false;
    const Op& branch = last(block);
    const BasicBlock& body = code_.blocks[block + 1];
    return branch.control == static_cast<uint8_t>(Control::kBranch) && branch.guard != 0 &&
           branch.target == block + 2 && jumps_[block + 2] == 1 && jumps_[block + 1] == 0 &&
           !body.has_control && body.end - body.begin <= kMostPredicated && !has_program(body);
  }
  bool has_program(const BasicBlock& body) const {
    return std::any_of(code_.ops.begin() + body.begin, code_.ops.begin() + body.end, [&](const Op& op) {
      return machine_cost(kernel_.origins[op.index].opcode, op, 1).instructions > kProgram;
    });
  }

  const Code& code_;
  const KernelCode& kernel_;
  std::vector<int> jumps_;  // branches to a block
  std::vector<bool> linked_;
};

constexpr uint32_t kLongestUnrolled = 80;  // ops of a round

// A block that goes on with itself, short and without anything that orders threads.
bool is_simple_loop(const Code& code, uint32_t block) {
  const BasicBlock& bb = code.blocks[block];
  const Op& last = code.ops[bb.end - 1];
  if (!bb.has_control || last.control != static_cast<uint8_t>(Control::kBranch) || last.target != block ||
      last.guard == 0 || bb.end - bb.begin > kLongestUnrolled)
    return false;
  return std::none_of(code.ops.begin() + bb.begin, code.ops.begin() + bb.end, [](const Op& op) {
    return op.cls == InstrClass::kFence || op.cls == InstrClass::kAtomic ||
           op.cls == InstrClass::kAsyncCopy || op.fn[1] == mbarrier_wait || op.fn[1] == bulk_copy ||
           (op.flags & (kPolls | kReleases) && op.cls == InstrClass::kLoadGlobal);
  });
}

// Passes over shared memory, 128 bytes each, that one warp's share of a product's operands takes: B once for
// the warpgroup, of A its own rows.
float operand_passes(const WgmmaDetail& d) {
  constexpr int kRowBytes = 32, kPassBytes = 128, kRows = 16;
  const int b = d.columns * kRowBytes / kWarpsOfGroup, a = d.a_in_registers ? 0 : kRows * kRowBytes;
  return static_cast<float>(a + b) / kPassBytes;
}

class Planner {
 public:
  Planner(const KernelCode& kernel, const std::vector<uint32_t>& bits, double tensor_cycles)
      : kernel_(kernel), bits_(bits), tensor_cycles_(tensor_cycles) {
    if (kernel.info.machine) machine_.emplace(*kernel.info.machine, kernel);
  }

  // `predicated`: blocks between that a branch may pass over; the branch itself then costs nothing.
  PlannedBlock plan(const Code& code, uint32_t first, uint32_t last, uint32_t first_value,
                    const std::vector<KernelPlan::Link>& predicated = {}) const {
    ScheduleInput in = collect(code, first, last, first_value, predicated);
    return finish(in, machine_ ? machine_->place(in) : std::nullopt);
  }

  // A block that branches to itself: one round of it, and several where they are unrolled.
  void plan_loop(const Code& code, uint32_t block, uint32_t first_value, uint32_t& next_value,
                 KernelPlan::Entry& entry) const {
    ScheduleInput once = collect(code, block, block, first_value, {});
    MachineOrder::LoopPlaces places;
    if (machine_) places = machine_->loop(once);
    entry.rounds = places.unrolled ? places.unrolled->copies : KernelPlan::kUnroll;
    if (entry.rounds > 1)
      entry.unrolled = finish(repeat(once, entry.rounds, next_value), places.unrolled);
    else
      entry.rounds = 0;
    entry.alone = finish(once, places.single);
  }

 private:
  // Several rounds of a loop. What a round writes has a name of its own, but for the last, which leaves the
  // loop's values behind.
  static ScheduleInput repeat(const ScheduleInput& once, uint32_t rounds, uint32_t& next_value) {
    ScheduleInput in;
    in.rounds = rounds;
    uint32_t memory_ops = 0;
    for (const PlannedOp& op : once.ops) memory_ops += has_event(op.kind);
    std::unordered_map<uint32_t, uint32_t> name;
    const auto current = [&](uint32_t value) {
      const auto found = name.find(value);
      return found == name.end() ? value : found->second;
    };
    for (size_t round = 0; round < rounds; ++round) {
      const bool last = round + 1 == rounds;
      for (size_t i = 0; i + !last < once.ops.size(); ++i) {  // only the last round keeps its branch
        PlannedOp op = once.ops[i];
        ScheduleInput::Memory memory = once.memory[i];
        const uint32_t* value = once.values.data() + op.values;
        std::vector<uint32_t> read;
        for (uint32_t k = op.written; k < op.written + op.read; ++k) read.push_back(current(value[k]));
        if (memory.base != ~0u) memory.base = current(memory.base);
        op.values = static_cast<uint32_t>(in.values.size());
        op.ordinal += static_cast<uint32_t>(round) * memory_ops;
        for (uint32_t k = 0; k < op.written; ++k)
          in.values.push_back(name[value[k]] = last ? value[k] : next_value++);
        in.values.insert(in.values.end(), read.begin(), read.end());
        in.memory.push_back(memory);
        in.ops.push_back(op);
      }
    }
    in.last_stays = true;
    return in;
  }

  PlannedBlock finish(ScheduleInput in, const std::optional<MachinePlace>& place) const {
    uint32_t memory_ops = 0;
    for (const PlannedOp& op : in.ops) memory_ops += has_event(op.kind);
    merge_shared_loads(in, bits_);
    PlannedBlock out = place ? machine_->order(std::move(in), *place) : schedule(std::move(in));
    out.memory_ops = memory_ops;
    return out;
  }

  ScheduleInput collect(const Code& code, uint32_t first, uint32_t last, uint32_t first_value,
                        const std::vector<KernelPlan::Link>& predicated) const {
    ScheduleInput in;
    uint32_t memory_ops = 0;
    const uint32_t begin = code.blocks[first].begin, end = code.blocks[last].end;
    for (uint32_t i = begin; i < end; ++i) {
      const Op& op = code.ops[i];
      const std::string_view opcode = kernel_.origins[op.index].opcode;
      PlannedOp p;
      p.kind = kind_of(op, opcode);
      p.cost = machine_cost(opcode, op, tensor_cycles_);
      p.op = op.index;
      plan_constant(p, op, code.op_values[i].read > 0);
      if (has_event(p.kind)) p.ordinal = memory_ops++;
      p.commits_first = p.kind == PlanKind::kAsyncWait && op.fn[1] == async_wait_all;
      if (p.kind == PlanKind::kAsyncWait && !p.commits_first) p.groups = static_cast<uint32_t>(op.groups);
      if (p.kind == PlanKind::kBarrier) p.waits_for_nobody = op.barrier.what >= BarrierOp::kClusterArrive;
      if (p.kind == PlanKind::kBulkLoad || p.kind == PlanKind::kBulkStore) p.fetches_map = op.bulk->rank > 0;
      if (opcode.starts_with("prefetch.tensormap")) p.fetches_map = true;
      if (p.kind == PlanKind::kProductWait) p.groups = static_cast<uint32_t>(op.groups);
      if (p.kind == PlanKind::kBulkWait) p.groups = op.bulk->groups;
      if (p.kind == PlanKind::kProduct) p.shared_passes = operand_passes(*op.wgmma);
      const OpValues& v = code.op_values[i];
      p.values = static_cast<uint32_t>(in.values.size());
      p.written = v.written;
      p.read = v.read;
      for (uint32_t k = 0; k < static_cast<uint32_t>(v.written) + v.read; ++k)
        in.values.push_back(first_value + code.values[v.begin + k]);
      // The first value an access reads is its address.
      const uint32_t base = v.read > 0 ? in.values[p.values + p.written] : ~0u;
      if (op.control == static_cast<uint8_t>(Control::kBranch) && i + 1 < end)
        p.cost = {Pipe::kNone, 0, 0, 0};
      for (const KernelPlan::Link& link : predicated) {
        const BasicBlock& body = code.blocks[link.block];
        if (!link.optional || i < body.begin || i >= body.end) continue;
        const OpValues& branch = code.op_values[body.begin - 1];  // reads its predicate alone
        for (uint32_t k = 0; k < branch.read; ++k, ++p.read)
          in.values.push_back(first_value + code.values[branch.begin + branch.written + k]);
      }
      in.memory.push_back(memory_of(op, p.kind, opcode, base));
      in.ops.push_back(p);
    }
    in.last_stays = code.blocks[last].has_control;
    return in;
  }

  // The first parameters come with the launch, the others when a warp of the SM first asks for one of them.
  void plan_constant(PlannedOp& p, const Op& op, bool by_register) const {
    constexpr int kFirstBytes = 48;  // of a line of 64: parameters begin 16 bytes into it
    if (op.cls != InstrClass::kLoadParam && op.cls != InstrClass::kLoadConst) return;
    const int parameter = kernel_.origins[op.index].parameter;
    if (parameter < 0 ? !by_register : parameter < kFirstBytes) return;
    p.kind = PlanKind::kConstantLoad;
    if (parameter < 0) p.cost.latency = static_cast<float>(cycles::kConstantLoad);
  }

  const KernelCode& kernel_;
  const std::vector<uint32_t>& bits_;
  double tensor_cycles_;
  std::optional<MachineOrder> machine_;
};

}  // namespace

bool has_event(PlanKind kind) {
  switch (kind) {
    case PlanKind::kGlobalLoad:
    case PlanKind::kGlobalStore:
    case PlanKind::kGlobalAtomic:
    case PlanKind::kAsyncCopy:
    case PlanKind::kSharedLoad:
    case PlanKind::kSharedStore:
    case PlanKind::kSharedAtomic:
    case PlanKind::kLocalLoad:
    case PlanKind::kLocalStore:
    case PlanKind::kMeet:
    case PlanKind::kArrive:
    case PlanKind::kPhaseWait:
    case PlanKind::kBulkLoad:
    case PlanKind::kBulkStore:
      return true;
    default:
      return false;
  }
}

KernelPlan::KernelPlan(const KernelCode& kernel, const std::vector<uint32_t>& bits, double tensor_cycles) {
  const Planner planner(kernel, bits, tensor_cycles);
  blocks.resize(kernel.block_count);
  uint32_t next_value = 0;  // names beyond those of the code
  for (const auto& code : kernel.codes) next_value += code ? code->value_count : 0;
  for (const auto& code : kernel.codes) {
    if (!code) continue;
    Chains chains(*code, kernel);
    for (uint32_t b = 0; b < code->blocks.size(); ++b) {
      Entry& entry = blocks[code->first_block + b];
      if (is_simple_loop(*code, b))
        planner.plan_loop(*code, b, value_count, next_value, entry);
      else
        entry.alone = planner.plan(*code, b, b, value_count);
      entry.links = chains.after(b);
      if (entry.links.empty()) continue;
      entry.chain = planner.plan(*code, b, entry.links.back().block, value_count, entry.links);
      for (Link& link : entry.links) link.block += code->first_block;
    }
    value_count += code->value_count;
  }
  value_count = next_value;
}

}  // namespace vgpu
