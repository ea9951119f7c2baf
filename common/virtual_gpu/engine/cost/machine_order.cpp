#include "cost/machine_order.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "exec/module.h"

namespace vgpu {
namespace {

constexpr uint32_t kMostCopies = 32;

// The letter of the machine instruction that does what the op does; '.' where there need not be one.
char letter_of(PlanKind kind) {
  switch (kind) {
    case PlanKind::kGlobalLoad:
      return 'L';
    case PlanKind::kGlobalStore:
      return 'S';
    case PlanKind::kGlobalAtomic:
      return 'U';
    case PlanKind::kAsyncCopy:
      return 'C';
    case PlanKind::kSharedStore:
      return 's';
    case PlanKind::kSharedLoad:
      return 'l';
    default:
      return '.';
  }
}

// Ops that stand in the machine code once for each copy. Loads of shared memory may have been joined.
bool is_anchor(PlanKind kind) {
  return letter_of(kind) != '.' && kind != PlanKind::kSharedLoad;
}

}  // namespace

int MachineOrder::line_of(const PlannedOp& op) const {
  return kernel_.origins[op.op].ptx_line;
}

std::vector<uint32_t> MachineOrder::made_from(int line, char letter,
                                              const MachineCode::Region& region) const {
  std::vector<uint32_t> made = machine_.made_from(line, region);
  if (letter != '.') std::erase_if(made, [&](uint32_t i) { return machine_.memory[i] != letter; });
  return made;
}

// A region counts when all anchors are there. Code without any is found by most of its other ops.
std::optional<MachinePlace> MachineOrder::copies_in(const ScheduleInput& in,
                                                    const MachineCode::Region& region) const {
  struct Line {
    uint32_t ops = 0, anchors = 0;
    char letter = '.';
  };
  std::unordered_map<int, Line> lines;
  uint32_t anchors = 0;
  for (const PlannedOp& op : in.ops) {
    Line& line = lines[line_of(op)];
    ++line.ops;
    if (!is_anchor(op.kind)) continue;
    ++line.anchors, ++anchors;
    line.letter = letter_of(op.kind);
  }
  std::vector<uint32_t> counts;
  size_t wanted = 0;
  for (const auto& [number, line] : lines) {
    if (anchors > 0 && line.anchors == 0) continue;
    ++wanted;
    const std::vector<uint32_t> made = made_from(number, line.letter, region);
    if (made.empty() && anchors > 0) return std::nullopt;
    const size_t ops = anchors > 0 ? line.anchors : line.ops;
    if (!made.empty()) counts.push_back(static_cast<uint32_t>(std::max<size_t>(1, made.size() / ops)));
  }
  if (counts.empty() || counts.size() * 2 < wanted) return std::nullopt;
  std::sort(counts.begin(), counts.end());
  // Of anchors the least: one may stand beside the loop too. Other ops become several instructions or none.
  const uint32_t copies = anchors == 0 ? counts[counts.size() / 2] : counts.front();
  return MachinePlace{region, std::min(copies, kMostCopies)};
}

MachineOrder::LoopPlaces MachineOrder::loop(const ScheduleInput& once) const {
  LoopPlaces out;
  for (const MachineCode::Region& region : machine_.inner_loops) {
    const std::optional<MachinePlace> found = copies_in(once, region);
    if (!found) continue;
    if (found->copies == 1 && !out.single) out.single = found;
    if (!out.unrolled || found->copies > out.unrolled->copies) out.unrolled = found;
  }
  return out;
}

std::optional<MachinePlace> MachineOrder::place(const ScheduleInput& in) const {
  std::optional<MachinePlace> best = copies_in(in, machine_.whole());
  if (!best) return best;
  for (const MachineCode::Region& region : machine_.loops) {
    const std::optional<MachinePlace> found = copies_in(in, region);
    if (found && region.size() < best->region.size()) best = found;
  }
  return best;
}

PlannedBlock MachineOrder::order(ScheduleInput in, const MachinePlace& place) const {
  struct Line {
    uint32_t ops = 0, seen = 0;
  };
  std::unordered_map<int, Line> lines;
  for (const PlannedOp& op : in.ops) ++lines[line_of(op)].ops;
  constexpr uint32_t kNowhere = ~0u;
  std::vector<uint32_t> position(in.ops.size(), kNowhere);
  for (size_t i = 0; i < in.ops.size(); ++i) {
    PlannedOp& op = in.ops[i];
    Line& line = lines[line_of(op)];
    const uint32_t slots = line.ops * place.copies / in.rounds;  // for all copies of all ops of the line
    const uint32_t slot = line.seen++;
    const std::vector<uint32_t> made = machine_.made_from(line_of(op), place.region);
    if (made.empty()) {
      // Part of another instruction, or done before.
      if (op.kind == PlanKind::kPlain) op.cost.instructions = op.cost.cycles = 0;
      continue;
    }
    float stalls = 0;
    for (const uint32_t at : made) stalls += machine_.stalls[at];
    const float share = static_cast<float>(made.size()) / static_cast<float>(slots);
    // A product is one instruction, whatever moves its descriptors; the tensor cores' time is its own.
    if (op.kind != PlanKind::kProduct) op.cost.cycles *= share / std::max(1.0f, op.cost.instructions);
    op.cost.instructions = share;
    op.stall = stalls / static_cast<float>(slots);
    // Of several the last gives the result; constants and addresses for the others come long before.
    const std::vector<uint32_t> these = made_from(line_of(op), letter_of(op.kind), place.region);
    const size_t next = these.size() * (slot + 1) / slots;
    if (!these.empty()) position[i] = these[std::clamp<size_t>(next, 1, these.size()) - 1];
  }
  // Nothing comes after what reads it: a value may be computed again further on, for others.
  std::unordered_map<uint32_t, uint32_t> needed_at;
  for (size_t i = in.ops.size(); i-- > 0;) {
    const PlannedOp& op = in.ops[i];
    for (uint32_t k = 0; k < op.written; ++k)
      if (const auto need = needed_at.find(in.values[op.values + k]); need != needed_at.end()) {
        position[i] = std::min(position[i], need->second);
        needed_at.erase(need);
      }
    if (position[i] == kNowhere && i + 1 < in.ops.size()) position[i] = position[i + 1];
    for (uint32_t k = op.written; k < op.written + op.read; ++k) {
      const auto [need, first] = needed_at.try_emplace(in.values[op.values + k], position[i]);
      if (!first) need->second = std::min(need->second, position[i]);
    }
  }
  if (in.last_stays && !in.ops.empty())
    position.back() = std::max(position.back(), *std::max_element(position.begin(), position.end()));
  std::vector<uint32_t> sequence(in.ops.size());
  std::iota(sequence.begin(), sequence.end(), 0);
  std::stable_sort(sequence.begin(), sequence.end(),
                   [&](uint32_t a, uint32_t b) { return position[a] < position[b]; });
  PlannedBlock out;
  for (const uint32_t i : sequence) out.ops.push_back(in.ops[i]);
  out.values = std::move(in.values);
  return out;
}

}  // namespace vgpu
