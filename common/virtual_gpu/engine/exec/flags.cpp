#include "exec/flags.h"

#include <algorithm>
#include <unordered_set>

#include "exec/lowering.h"
#include "exec/memory_ops.h"
#include "exec/traffic.h"

namespace vgpu {

namespace {

// Following values takes time that grows with the loads times the code. Loads beyond this are taken for data.
constexpr uint64_t kMostSteps = 100'000'000;
constexpr int kMostCalls = 4;  // that a value is followed out of

bool is_access(const Op& op, InstrClass shared, InstrClass global) {
  return op.cls == shared || op.cls == global;
}
bool is_load(const Op& op) {
  return is_access(op, InstrClass::kLoadShared, InstrClass::kLoadGlobal) ||
         op.cls == InstrClass::kLoadLocal || op.cls == InstrClass::kLoadConst;
}
bool is_store(const Op& op) {
  return is_access(op, InstrClass::kStoreShared, InstrClass::kStoreGlobal) ||
         op.cls == InstrClass::kStoreLocal;
}
bool reads_clock(const Op& op) {
  constexpr OpFn kClocks[] = {read_clock32, read_clock64, read_clock_high,
                              read_timer32, read_timer64, read_timer_high};
  return std::ranges::find(kClocks, op.fn[0]) != std::end(kClocks);
}
bool leaves(const Op& op) {
  const Control c = static_cast<Control>(op.control);
  return c == Control::kReturn || c == Control::kExit;
}
bool branches(const Op& op) {
  const Control c = static_cast<Control>(op.control);
  return c == Control::kBranch || c == Control::kBranchIndex || leaves(op);
}

// A function as a graph: of blocks, and of values. A value is a register, or, numbered after them, a
// parameter of a call or a variable of shared memory with an address of its own.
struct Graph {
  const Code& code;
  std::vector<std::vector<uint32_t>> next, previous;  // blocks
  std::vector<uint32_t> block_of;                     // by op
  std::vector<std::vector<uint32_t>> written, read;   // values, by op
  std::vector<std::vector<uint32_t>> readers;         // ops, by value
  std::vector<std::vector<bool>> loops;               // blocks of each natural loop
  std::unordered_map<uint64_t, uint32_t> places;      // parameters and variables -> value

  Graph(const Code& c, uint64_t& steps) : code(c) {
    const uint32_t blocks = static_cast<uint32_t>(c.blocks.size());
    next.resize(blocks);
    previous.resize(blocks);
    block_of.resize(c.ops.size());
    for (uint32_t b = 0; b < blocks; ++b) {
      next[b] = successors(c, b);
      for (uint32_t s : next[b]) previous[s].push_back(b);
      std::fill(block_of.begin() + c.blocks[b].begin, block_of.begin() + c.blocks[b].end, b);
    }
    written.resize(c.ops.size());
    read.resize(c.ops.size());
    for (size_t i = 0; i < c.ops.size(); ++i) note_values(i);
    readers.resize(c.value_count + places.size());
    for (uint32_t i = 0; i < c.ops.size(); ++i)
      for (uint32_t value : read[i]) readers[value].push_back(i);
    find_loops(steps);
  }

  uint32_t place(uint64_t key) {
    return places.try_emplace(key, code.value_count + static_cast<uint32_t>(places.size())).first->second;
  }
  static uint64_t variable_key(uint64_t address) { return 1ull << 63 | address; }

  void note_values(size_t i) {
    const Op& op = code.ops[i];
    const OpValues& at = code.op_values[i];
    const uint32_t* values = code.values.data() + at.begin;
    written[i].assign(values, values + at.written);
    read[i].assign(values + at.written, values + at.written + at.read);
    if (op.fn[0] == param_load) read[i].push_back(place(op.src[0]));
    if (op.fn[0] == param_store) written[i].push_back(place(op.dst));
    if (op.control == static_cast<uint8_t>(Control::kCall))
      for (const ParamArea& a : code.calls[op.call].returns) written[i].push_back(place(a.offset));
    // A variable that one thread stores and all load, as in `if (threadIdx.x == 0) done = *flag;`.
    if (is_access(op, InstrClass::kLoadShared, InstrClass::kStoreShared))
      if (const ConstantSlot* slot = constant_at(op.src[0]))
        (is_store(op) ? written : read)[i].push_back(place(variable_key(slot->value + op.access.offset)));
  }

  const ConstantSlot* constant_at(uint32_t offset) const {
    if (offset < code.const_begin || offset >= code.const_end) return nullptr;
    const auto slot = std::lower_bound(code.constants.begin(), code.constants.end(), offset,
                                       [](const ConstantSlot& c, uint32_t at) { return c.offset < at; });
    return slot != code.constants.end() && slot->offset == offset ? &*slot : nullptr;
  }

  // Natural loops: one for each edge back to a block that every way to it passes.
  void find_loops(uint64_t& steps) {
    const uint32_t n = static_cast<uint32_t>(next.size());
    std::vector<uint32_t> number(n, kNoBlock), order;  // reverse post-order
    std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
    std::vector<bool> seen(n, false);
    seen[0] = true;
    while (!stack.empty()) {
      auto& [b, i] = stack.back();
      if (i < next[b].size()) {
        const uint32_t s = next[b][i++];
        if (!seen[s]) {
          seen[s] = true;
          stack.push_back({s, 0});
        }
      } else {
        order.push_back(b);
        stack.pop_back();
      }
    }
    std::reverse(order.begin(), order.end());
    for (uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
    std::vector<uint32_t> dominator(n, kNoBlock);
    dominator[0] = 0;
    auto meet = [&](uint32_t a, uint32_t b) {
      for (; a != b; ++steps)
        if (number[a] > number[b])
          a = dominator[a];
        else
          b = dominator[b];
      return a;
    };
    for (bool changed = true; changed && steps < kMostSteps;) {
      changed = false;
      for (uint32_t b : order) {
        if (b == 0) continue;
        uint32_t best = kNoBlock;
        for (uint32_t p : previous[b])
          if (dominator[p] != kNoBlock) best = best == kNoBlock ? p : meet(best, p);
        if (best != dominator[b]) dominator[b] = best, changed = true;
      }
    }
    for (uint32_t from : order)
      for (uint32_t head : next[from]) {
        uint32_t up = from;
        for (; up != head && up != 0; ++steps) up = dominator[up];
        if (up == head && steps < kMostSteps) loops.push_back(loop(head, from, steps));
      }
  }

  std::vector<bool> loop(uint32_t head, uint32_t from, uint64_t& steps) const {
    std::vector<bool> in(next.size(), false);
    steps += in.size() / 8 + 1;  // the loop is kept: so many bytes
    std::vector<uint32_t> open;
    auto add = [&](uint32_t b) {
      if (in[b]) return;
      in[b] = true;
      open.push_back(b);
    };
    in[head] = true;
    add(from);
    while (!open.empty()) {
      const uint32_t b = open.back();
      open.pop_back();
      for (uint32_t p : previous[b]) ++steps, add(p);
    }
    return in;
  }
};

// What becomes of a value inside of a function.
struct Spread {
  const Graph& graph;
  uint64_t& steps;
  std::vector<bool> reached;  // values
  std::vector<uint32_t> open;
  std::vector<uint32_t> deciding;  // branches that it decides

  Spread(const Graph& g, uint64_t& s) : graph(g), steps(s), reached(g.readers.size(), false) {
    steps += reached.size() / 64 + 1;
  }

  void reach(uint32_t value) {
    if (reached[value]) return;
    reached[value] = true;
    open.push_back(value);
  }

  // With comparisons, and with what happens only on one side of a branch that they decide.
  void follow() {
    const Code& code = graph.code;
    std::vector<bool> decided(code.ops.size(), false);
    while (!open.empty() && steps < kMostSteps) {
      const uint32_t value = open.back();
      open.pop_back();
      for (uint32_t i : graph.readers[value]) {
        ++steps;
        const Op& op = code.ops[i];
        if (branches(op)) {
          if (!decided[i]) decide(i);
          decided[i] = true;
        } else if (!is_load(op) || value >= code.value_count) {  // what lies at an address is another value
          for (uint32_t result : graph.written[i]) reach(result);
        }
      }
    }
  }

  void decide(uint32_t branch) {
    deciding.push_back(branch);
    const uint32_t from = graph.block_of[branch];
    const uint32_t join = graph.code.blocks[from].reconverge;
    std::vector<bool> seen(graph.next.size(), false);
    steps += seen.size() / 64 + 1;
    std::vector<uint32_t> blocks;
    auto add = [&](uint32_t b) {
      if (b == join || seen[b]) return;
      seen[b] = true;
      blocks.push_back(b);
    };
    for (uint32_t s : graph.next[from]) add(s);
    while (!blocks.empty()) {
      const uint32_t b = blocks.back();
      blocks.pop_back();
      const BasicBlock& bb = graph.code.blocks[b];
      for (uint32_t i = bb.begin; i < bb.end; ++i)
        for (uint32_t result : graph.written[i]) ++steps, reach(result);
      for (uint32_t s : graph.next[b]) ++steps, add(s);
    }
  }

  bool ends_loop_around(uint32_t block) const {
    for (const std::vector<bool>& loop : graph.loops) {
      if (!loop[block]) continue;
      for (uint32_t branch : deciding) {
        ++steps;
        const uint32_t b = graph.block_of[branch];
        if (!loop[b]) continue;
        if (leaves(graph.code.ops[branch])) return true;
        for (uint32_t s : graph.next[b])
          if (!loop[s]) return true;
      }
    }
    return false;
  }
};

class FlagSearch {
 public:
  FlagSearch(const ModuleImage& module, KernelCode& kernel) : module_(module), kernel_(kernel) {
    kernel_.flag_use.assign(kernel_.origins.size(), 0);
  }

  void run() {
    bool any = false;
    for (const auto& code : kernel_.codes)
      if (code)
        for (const Op& op : code->ops) any |= note(op);
    if (!any) return;
    for (const auto& code : kernel_.codes)
      graphs_.push_back(code ? std::make_unique<Graph>(*code, steps_) : nullptr);
    for (size_t f = 0; f < graphs_.size(); ++f)
      if (graphs_[f])
        for (uint32_t i = 0; i < graphs_[f]->code.ops.size(); ++i) classify(f, i);
    for (const auto& graph : graphs_)
      if (graph) mark_copies(*graph);
  }

 private:
  // What the op itself shows. True where its result must be followed.
  bool note(const Op& op) {
    uint8_t& use = kernel_.flag_use[op.index];
    if (op.cls == InstrClass::kAtomic)
      use = static_cast<uint8_t>(kStrong | kAtomic | (op.atomic.commutes ? kCounts : 0));
    if (is_store(op) && (op.flags & kReleases))
      use = static_cast<uint8_t>(kStrong | (op.flags & kStoresConstant ? kConstant : 0) |
                                 (says(op, ".release") ? kOrders : 0));
    if (is_strong_load(op)) use = static_cast<uint8_t>(kStrong | (says(op, ".acquire") ? kOrders : 0));
    return is_strong_load(op) || reads_clock(op) ||
           (op.cls == InstrClass::kAtomic && !(op.flags & kResultUnused));
  }

  bool says(const Op& op, std::string_view modifier) const {
    return kernel_.origins[op.index].opcode.find(modifier) != std::string_view::npos;
  }
  static bool is_strong_load(const Op& op) { return is_load(op) && (op.flags & kPolls); }

  // An atomic that can be done again and again and change nothing.
  bool may_spin(const Graph& graph, const Op& op) const {
    if (op.cls != InstrClass::kAtomic || (op.flags & kResultUnused)) return false;
    const ConstantSlot* value = graph.constant_at(op.src[1]);
    return op.atomic.shared == SharedAtomic::kSwap || (value != nullptr && value->value == 0) ||
           kernel_.origins[op.index].opcode.find(".exch") != std::string_view::npos;
  }

  void classify(size_t f, uint32_t i) {
    const Graph& graph = *graphs_[f];
    const Op& op = graph.code.ops[i];
    const bool spins = may_spin(graph, op);
    if (!is_strong_load(op) && !spins && !reads_clock(op)) return;
    if (steps_ >= kMostSteps) return;
    uint8_t& use = kernel_.flag_use[op.index];
    const Computed computed = compute_with(graph, i);
    // A swap that is tried again with what it found there makes progress by itself.
    if (!(spins && computed.by_itself) && waits(f, graph.block_of[i], graph.written[i], 0)) use |= kWaits;
    if (is_strong_load(op) && (!computed.at_all || computed.swapped)) use |= kDecides;
  }

  // Whether one of the values decides that a loop around the block goes on; in a function, also one around a
  // call that returns it.
  bool waits(size_t f, uint32_t block, const std::vector<uint32_t>& values, int calls) {
    const Graph& graph = *graphs_[f];
    Spread spread(graph, steps_);
    for (uint32_t value : values) spread.reach(value);
    spread.follow();
    if (spread.ends_loop_around(block)) return true;
    if (graph.code.is_entry || calls == kMostCalls) return false;
    bool returned = false;
    for (const ParamArea& area : graph.code.returns) {
      const auto found = graph.places.find(area.offset);
      returned |= found != graph.places.end() && spread.reached[found->second];
    }
    if (!returned) return false;
    for (size_t g = 0; g < graphs_.size(); ++g) {
      if (!graphs_[g]) continue;
      const Code& caller = graphs_[g]->code;
      for (uint32_t i = 0; i < caller.ops.size() && steps_ < kMostSteps; ++i) {
        ++steps_;
        if (caller.ops[i].control != static_cast<uint8_t>(Control::kCall)) continue;
        const CallSite& site = caller.calls[caller.ops[i].call];
        const bool may_call = site.callee == static_cast<int>(f) || (site.callee < 0 && site.builtin == 0);
        if (may_call && waits(g, graphs_[g]->block_of[i], graphs_[g]->written[i], calls + 1)) return true;
      }
    }
    return false;
  }

  // What is done with an op's result beside comparing it.
  struct Computed {
    bool at_all = false;     // it reaches memory, an address or a function
    bool swapped = false;    // it reaches an atomicCAS, which compares it
    bool by_itself = false;  // it reaches the same op again
  };
  Computed compute_with(const Graph& graph, uint32_t from) {
    const Code& code = graph.code;
    std::vector<bool> seen(graph.readers.size(), false);
    steps_ += seen.size() / 64 + 1;
    std::vector<uint32_t> open;
    auto add = [&](uint32_t value) {
      if (value < code.value_count && code.predicates[value]) return;
      if (!seen[value]) open.push_back(value);
      seen[value] = true;
    };
    for (uint32_t value : graph.written[from]) add(value);
    Computed computed;
    while (!open.empty() && steps_ < kMostSteps) {
      const uint32_t value = open.back();
      open.pop_back();
      for (uint32_t i : graph.readers[value]) {
        ++steps_;
        const Op& op = code.ops[i];
        computed.by_itself |= i == from;
        computed.swapped |= op.cls == InstrClass::kAtomic && op.atomic.shared == SharedAtomic::kSwap;
        computed.at_all |= is_load(op) || is_store(op) || op.cls == InstrClass::kAtomic ||
                           op.cls == InstrClass::kAsyncCopy || op.fn[0] == param_store ||
                           op.control == static_cast<uint8_t>(Control::kCall);
        for (uint32_t result : graph.written[i]) add(result);
      }
    }
    return computed;
  }

  // nvcc copies a loop's first test to before the loop: the load there has the same line.
  void mark_copies(const Graph& graph) {
    std::unordered_set<std::string> waiting;
    for (const Op& op : graph.code.ops)
      if (kernel_.flag_use[op.index] & kWaits) waiting.insert(line_of(op));
    waiting.erase("");
    if (waiting.empty()) return;
    for (const Op& op : graph.code.ops)
      if (is_strong_load(op) && waiting.count(line_of(op))) kernel_.flag_use[op.index] |= kWaits;
  }

  std::string line_of(const Op& op) const {
    std::string text;
    for (const SourcePlace& p : module_.place(kernel_.origins[op.index].loc))
      text += p.file + ":" + std::to_string(p.line) + " ";
    return text;
  }

  const ModuleImage& module_;
  KernelCode& kernel_;
  std::vector<std::unique_ptr<Graph>> graphs_;  // by function
  uint64_t steps_ = 0;
};

}  // namespace

void find_flags(const ModuleImage& module, KernelCode& kernel) {
  FlagSearch(module, kernel).run();
}

}  // namespace vgpu
