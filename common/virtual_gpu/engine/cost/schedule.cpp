// List scheduling of a straight piece of code: of the ops whose sources are there, the one with the longest
// way still before it goes first.
#include <algorithm>
#include <unordered_map>

#include "cost/plan.h"

namespace vgpu {
namespace {

using Memory = ScheduleInput::Memory;

constexpr double kExpectedGlobalLoad = 400;  // what a compiler reckons with, in cycles

struct Node {
  std::vector<std::pair<uint32_t, float>> next;  // op, cycles that must lie between
  uint32_t waiting = 0;
  double height = 0, earliest = 0;
};

double expected_latency(const PlannedOp& op) {
  return op.kind == PlanKind::kGlobalLoad || op.kind == PlanKind::kGlobalAtomic ? kExpectedGlobalLoad
                                                                                : op.cost.latency;
}

// Accesses from one base that do not overlap are distinct; everything else may be the same memory.
bool apart(const Memory& a, const Memory& b) {
  if (a.base == ~0u || a.base != b.base || a.bytes == 0 || b.bytes == 0) return false;
  return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

bool must_keep_order(const Memory& earlier, const Memory& later) {
  const bool touches = later.reads_global || later.writes_global || later.reads_shared ||
                       later.writes_shared || later.local || later.fence;
  const bool touched = earlier.reads_global || earlier.writes_global || earlier.reads_shared ||
                       earlier.writes_shared || earlier.local || earlier.fence;
  if (!touches || !touched) return false;
  // Loads of memory that the kernel only reads pass anything but what orders threads.
  if (earlier.fence || later.fence)
    return !(later.read_only || earlier.read_only) || (earlier.fence && later.fence);
  if (earlier.local && later.local) return true;
  const bool global = (earlier.writes_global && (later.reads_global || later.writes_global)) ||
                      (earlier.reads_global && later.writes_global);
  const bool shared = (earlier.writes_shared && (later.reads_shared || later.writes_shared)) ||
                      (earlier.reads_shared && later.writes_shared);
  if (!global && !shared) return false;
  if (!shared && (earlier.read_only || later.read_only)) return false;
  return !apart(earlier, later);
}

class Graph {
 public:
  explicit Graph(const ScheduleInput& in) : in_(in), nodes_(in.ops.size()) {
    add_values();
    add_memory();
    if (in.last_stays && !in.ops.empty())
      for (uint32_t i = 0; i + 1 < in.ops.size(); ++i) edge(i, static_cast<uint32_t>(in.ops.size() - 1), 0);
    for (size_t i = nodes_.size(); i-- > 0;) {
      nodes_[i].height = in.ops[i].cost.instructions;
      for (const auto& [to, cycles] : nodes_[i].next)
        nodes_[i].height = std::max(nodes_[i].height, nodes_[to].height + static_cast<double>(cycles));
    }
  }

  std::vector<uint32_t> order() {
    std::vector<uint32_t> ready, out;
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].waiting == 0) ready.push_back(i);
    double now = 0;
    while (!ready.empty()) {
      size_t best = 0;
      for (size_t k = 1; k < ready.size(); ++k)
        if (before(ready[k], ready[best], now)) best = k;
      const uint32_t i = ready[best];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
      now = std::max(now, nodes_[i].earliest);
      out.push_back(i);
      for (const auto& [to, cycles] : nodes_[i].next) {
        nodes_[to].earliest = std::max(nodes_[to].earliest, now + static_cast<double>(cycles));
        if (--nodes_[to].waiting == 0) ready.push_back(to);
      }
      now += in_.ops[i].cost.instructions;
    }
    return out;
  }

 private:
  void edge(uint32_t from, uint32_t to, double cycles) {
    nodes_[from].next.push_back({to, static_cast<float>(cycles)});
    ++nodes_[to].waiting;
  }

  void add_values() {
    struct Uses {
      uint32_t writer = ~0u;
      std::vector<uint32_t> readers;
    };
    std::unordered_map<uint32_t, Uses> uses;
    for (uint32_t i = 0; i < in_.ops.size(); ++i) {
      const PlannedOp& op = in_.ops[i];
      for (uint32_t k = op.written; k < op.written + op.read; ++k) {
        Uses& u = uses[in_.values[op.values + k]];
        if (u.writer != ~0u) edge(u.writer, i, expected_latency(in_.ops[u.writer]));
        u.readers.push_back(i);
      }
      for (uint32_t k = 0; k < op.written; ++k) {
        Uses& u = uses[in_.values[op.values + k]];
        if (u.writer != ~0u && u.writer != i) edge(u.writer, i, 1);
        for (uint32_t r : u.readers)
          if (r != i) edge(r, i, 0);
        u.writer = i;
        u.readers.clear();
      }
    }
  }

  void add_memory() {
    std::vector<uint32_t> accesses;
    for (uint32_t i = 0; i < in_.ops.size(); ++i) {
      const Memory& m = in_.memory[i];
      if (!m.fence && !has_event(in_.ops[i].kind)) continue;
      for (uint32_t earlier : accesses)
        if (must_keep_order(in_.memory[earlier], m)) edge(earlier, i, 0);
      accesses.push_back(i);
    }
  }

  // Of two that could go: first those that need not wait, then the one with the longer way to the end.
  bool before(uint32_t a, uint32_t b, double now) const {
    const double wait_a = std::max(0.0, nodes_[a].earliest - now);
    const double wait_b = std::max(0.0, nodes_[b].earliest - now);
    if (wait_a != wait_b) return wait_a < wait_b;
    if (nodes_[a].height != nodes_[b].height) return nodes_[a].height > nodes_[b].height;
    return a < b;
  }

  const ScheduleInput& in_;
  std::vector<Node> nodes_;
};

}  // namespace

PlannedBlock schedule(ScheduleInput input) {
  PlannedBlock out;
  for (uint32_t i : Graph(input).order()) out.ops.push_back(input.ops[i]);
  out.values = std::move(input.values);
  return out;
}

}  // namespace vgpu
