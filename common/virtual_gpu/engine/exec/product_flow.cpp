// Which instructions may touch the registers of a wgmma in flight. A walk over the code finds the few that
// may; they are looked at when they run, since only then is it known what is in flight. Copies from register
// to register are the compiler's own: they hand on what is in flight.
#include <algorithm>

#include "checks/async_findings.h"
#include "checks/report.h"
#include "exec/block.h"
#include "exec/lowering.h"
#include "exec/wgmma.h"

namespace vgpu {

struct GuardedOp {
  OpFn fn[2];
  struct Register {
    uint32_t place;
    bool writes;
  };
  std::vector<Register> registers;
  bool moves = false;  // registers: destination, source
};

namespace {

constexpr uint8_t kNotInFlight = 0xff, kOldest = 0xfe;

struct FlowState {
  std::vector<uint8_t> result, input;  // by tracked value: groups committed since, or kNotInFlight
  std::vector<uint32_t> changed;  // by tracked value: op + 1 that changed it since the last fence; 0: none
  bool unfenced = false;
  bool visited = false;

  // True when something new came in.
  bool join(const FlowState& from) {
    if (!visited) {
      *this = from;
      visited = true;
      return true;
    }
    bool grew = false;
    for (size_t i = 0; i < result.size(); ++i) {
      if (from.result[i] < result[i]) result[i] = from.result[i], grew = true;
      if (from.input[i] < input[i]) input[i] = from.input[i], grew = true;
      if (changed[i] != 0 && from.changed[i] == 0) changed[i] = 0, grew = true;
    }
    if (unfenced && !from.unfenced) unfenced = false, grew = true;
    return grew;
  }
};

struct Flow {
  Code& code;
  std::unordered_map<uint32_t, uint32_t> tracked;  // value -> number

  explicit Flow(Code& c) : code(c) {}

  bool is_product(const Op& op) const { return op.fn[1] == wgmma_product; }
  const OpValues& values(const Op& op) const {
    return code.op_values[static_cast<size_t>(&op - code.ops.data())];
  }
  uint32_t value(const Op& op, uint32_t i) const { return code.values[values(op).begin + i]; }
  bool is_move(const Op& op) const {
    return op.cls == InstrClass::kMove && values(op).written == 1 && values(op).read <= 1 && op.guard == 0;
  }
  int number(uint32_t value) const {
    const auto found = tracked.find(value);
    return found == tracked.end() ? -1 : static_cast<int>(found->second);
  }
  size_t number_of_tracked(uint32_t value) const { return tracked.at(value); }
  void track(uint32_t value) { tracked.try_emplace(value, static_cast<uint32_t>(tracked.size())); }

  bool find_tracked() {
    for (const Op& op : code.ops)
      if (is_product(op)) {
        const OpValues& v = values(op);
        for (uint32_t i = 0; i < v.written; ++i) track(value(op, i));
        for (int i = 0; i < op.wgmma->a_registers; ++i)
          track(value(op, v.written + static_cast<uint32_t>(i)));
      }
    if (tracked.empty()) return false;
    for (bool grew = true; grew;) {
      const size_t before = tracked.size();
      for (const Op& op : code.ops)
        if (is_move(op) && values(op).read == 1 && (number(value(op, 0)) >= 0 || number(value(op, 1)) >= 0)) {
          track(value(op, 0));
          track(value(op, 1));
        }
      grew = tracked.size() != before;
    }
    return true;
  }

  void step(const Op& op, FlowState& s) const {
    const OpValues& v = values(op);
    if (is_product(op)) {
      for (uint32_t i = 0; i < v.written; ++i) {
        const size_t t = number_of_tracked(value(op, i));
        s.result[t] = 0;
        s.changed[t] = 0;
      }
      for (int i = 0; i < op.wgmma->a_registers; ++i)
        s.input[number_of_tracked(value(op, v.written + static_cast<uint32_t>(i)))] = 0;
      return;
    }
    if (op.fn[1] == wgmma_fence) {
      s.unfenced = false;
      std::fill(s.changed.begin(), s.changed.end(), 0u);
      return;
    }
    if (op.fn[1] == wgmma_commit || op.fn[1] == wgmma_wait) {
      for (auto* ages : {&s.result, &s.input})
        for (uint8_t& age : *ages) {
          if (age == kNotInFlight) continue;
          if (op.fn[1] == wgmma_commit)
            age = std::min<uint8_t>(static_cast<uint8_t>(age + 1), kOldest);
          else if (age >= op.groups + 1)
            age = kNotInFlight;
        }
      return;
    }
    const int from = is_move(op) && v.read == 1 ? number(value(op, 1)) : -1;
    for (uint32_t i = 0; i < v.written; ++i) {
      const int t = number(value(op, i));
      if (t < 0) continue;
      const size_t at = static_cast<size_t>(t);
      if (from >= 0) {
        s.result[at] = s.result[static_cast<size_t>(from)];
        s.changed[at] = s.changed[static_cast<size_t>(from)];
      } else if (!is_move(op)) {
        s.changed[at] = op.index + 1;
      }
    }
  }
};

void check_registers(Warp& w, const Op& op, const GuardedOp& guarded) {
  AsyncUnit& unit = async_unit(*w.block);
  Products& p = unit.products[w.id];
  auto use_of = [&](uint32_t place) -> Products::Use* {
    const size_t at = place / kRegisterPlace;
    return at < p.registers.size() ? &p.registers[at] : nullptr;
  };
  if (guarded.moves) {
    Products::Use *to = use_of(guarded.registers[0].place), *from = use_of(guarded.registers[1].place);
    if (to != nullptr && from != nullptr) *to = *from;
    return;
  }
  for (const GuardedOp::Register& r : guarded.registers) {
    const Products::Use* use = use_of(r.place);
    if (use == nullptr || !p.in_flight(*use) || (use->is_input && !r.writes)) continue;
    if (w.block->options->check_async) checks::registers_in_flight(w, op, use->op, r.writes, use->is_input);
    return;
  }
}

void run_guarded(Warp& w, const Op& op) {
  const GuardedOp& guarded = *w.block->launch->kernel.guarded.at(op.index);
  check_registers(w, op, guarded);
  guarded.fn[w.exec == kAllLanes](w, op);
}

}  // namespace

void guard_products(Code& code, KernelCode& kernel) {
  Flow flow(code);
  if (!flow.find_tracked()) return;
  const size_t n = flow.tracked.size();
  std::vector<FlowState> in(code.blocks.size());
  FlowState begin;
  begin.result.assign(n, kNotInFlight);
  begin.input.assign(n, kNotInFlight);
  begin.changed.assign(n, 0);
  begin.unfenced = code.is_entry;
  in[0].join(begin);
  std::vector<uint32_t> work{0};
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    FlowState s = in[b];
    for (uint32_t i = code.blocks[b].begin; i < code.blocks[b].end; ++i) flow.step(code.ops[i], s);
    for (uint32_t next : successors(code, b))
      if (in[next].join(s)) work.push_back(next);
  }
  for (uint32_t b = 0; b < code.blocks.size(); ++b) {
    if (!in[b].visited) continue;
    FlowState s = in[b];
    for (uint32_t i = code.blocks[b].begin; i < code.blocks[b].end; ++i) {
      Op& op = code.ops[i];
      const OpValues& v = flow.values(op);
      GuardedOp guarded{{op.fn[0], op.fn[1]}, {}, false};
      auto look = [&](uint32_t at, bool writes) {
        const int t = flow.number(flow.value(op, at));
        if (t < 0) return;
        const bool in_flight = s.result[static_cast<size_t>(t)] != kNotInFlight ||
                               (writes && s.input[static_cast<size_t>(t)] != kNotInFlight);
        if (in_flight) guarded.registers.push_back({code.value_places[flow.value(op, at)].offset, writes});
      };
      if (flow.is_product(op)) {
        uint32_t changed = s.unfenced ? kNoOther : 0;
        bool missing = s.unfenced;
        for (uint32_t k = 0; k < uint32_t{v.written} + static_cast<uint32_t>(op.wgmma->a_registers); ++k) {
          const uint32_t by = s.changed[static_cast<size_t>(flow.number(flow.value(op, k)))];
          if (!missing && by != 0) missing = true, changed = by - 1;
        }
        if (missing) kernel.unfenced_products[op.index] = changed;
        for (int k = 0; k < op.wgmma->a_registers; ++k) look(v.written + static_cast<uint32_t>(k), false);
      } else if (flow.is_move(op)) {
        const int from = v.read == 1 ? flow.number(flow.value(op, 1)) : -1;
        if (from >= 0 && s.result[static_cast<size_t>(from)] != kNotInFlight) {
          guarded.registers = {{code.value_places[flow.value(op, 0)].offset, true},
                               {code.value_places[flow.value(op, 1)].offset, false}};
          guarded.moves = true;
        }
      } else if (op.control == 0) {
        for (uint32_t k = 0; k < v.written; ++k) look(k, true);
        for (uint32_t k = v.written; k < uint32_t{v.written} + v.read; ++k) look(k, false);
      }
      flow.step(op, s);
      if (guarded.registers.empty()) continue;
      kernel.guarded[op.index] = std::make_shared<const GuardedOp>(std::move(guarded));
      kernel.guards_products = true;
    }
  }
  // The walk above reads the ops' functions: they are replaced when it is over.
  for (Op& op : code.ops)
    if (kernel.guarded.count(op.index)) op.fn[0] = op.fn[1] = run_guarded;
}

}  // namespace vgpu
