#include "exec/undefined.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "checks/report.h"
#include "checks/undefined_findings.h"
#include "exec/access.h"
#include "exec/memory_ops.h"

namespace vgpu {

using ptx::Space;

namespace {

constexpr size_t kMostOrigins = 1 << 20;  // in a block; later ones share the last

uint64_t all_bits(uint32_t bytes) {
  return bytes == 0 ? 1 : bytes >= 8 ? ~0ull : (1ull << (8 * bytes)) - 1;
}

// How an instruction hands on what is undefined in its sources.
enum class Rule : uint8_t {
  kCompute,  // one undefined bit makes the whole result undefined
  kBits,     // a result's bit is undefined if other values of the undefined bits would change it
  kCompare,  // setp, whose result may be combined with another predicate
  kLoad,     // all sources are addresses
  kStore,
  kAtomic,
  kMatrix,       // mma
  kMatrixStore,  // wmma.store, stmatrix
  kParamLoad,
  kParamStore,
};

struct NamedRule {
  std::string_view name;
  Rule rule;
};
constexpr NamedRule kRules[] = {
    {"mov", Rule::kBits},     {"and", Rule::kBits},
    {"or", Rule::kBits},      {"xor", Rule::kBits},
    {"not", Rule::kBits},     {"shl", Rule::kBits},
    {"shr", Rule::kBits},     {"shf", Rule::kBits},
    {"prmt", Rule::kBits},    {"bfe", Rule::kBits},
    {"bfi", Rule::kBits},     {"lop3", Rule::kBits},
    {"selp", Rule::kBits},    {"brev", Rule::kBits},
    {"setp", Rule::kCompare}, {"ld", Rule::kLoad},
    {"ldu", Rule::kLoad},     {"ldmatrix", Rule::kLoad},
    {"cp", Rule::kLoad},      {"mbarrier", Rule::kLoad},
    {"tex", Rule::kLoad},     {"tld4", Rule::kLoad},
    {"suld", Rule::kLoad},    {"sust", Rule::kMatrixStore},
    {"st", Rule::kStore},     {"atom", Rule::kAtomic},
    {"red", Rule::kAtomic},   {"stmatrix", Rule::kMatrixStore},
    {"mma", Rule::kMatrix},   {"wgmma", Rule::kMatrix},
};

std::string_view opcode_of(const Warp& w, const Op& op) {
  return w.block->launch->kernel.origins[op.index].opcode;
}

Rule rule_of(const Warp& w, const Op& op) {
  if (op.fn[0] == not_predicate) return Rule::kBits;  // a helper of another instruction
  if (op.fn[0] == param_load) return Rule::kParamLoad;
  if (op.fn[0] == param_store) return Rule::kParamStore;
  const std::string_view opcode = opcode_of(w, op), base = opcode.substr(0, opcode.find('.'));
  if (base == "cvt") {
    const bool on_floats = opcode.find(".f") != opcode.npos || opcode.find(".bf") != opcode.npos ||
                           opcode.find(".tf") != opcode.npos;
    return on_floats ? Rule::kCompute : Rule::kBits;
  }
  if (base == "wmma")
    return opcode.starts_with("wmma.load")    ? Rule::kLoad
           : opcode.starts_with("wmma.store") ? Rule::kMatrixStore
                                              : Rule::kMatrix;
  for (const NamedRule& r : kRules)
    if (r.name == base) return r.rule;
  return Rule::kCompute;
}

struct Register {
  uint8_t* place;
  uint8_t bytes;  // per lane; 0 for a predicate
  size_t array_bytes() const { return bytes == 0 ? 4 : size_t{bytes} * kLanes; }
  uint64_t value(int lane) const {
    if (bytes == 0) return *reinterpret_cast<const Mask*>(place) >> lane & 1;
    uint64_t v = 0;
    std::memcpy(&v, place + lane * bytes, bytes);
    return v;
  }
  void flip(int lane, uint64_t bits) const {
    if (bytes == 0) {
      *reinterpret_cast<Mask*>(place) ^= static_cast<Mask>(bits & 1) << lane;
      return;
    }
    const uint64_t v = value(lane) ^ bits;
    std::memcpy(place + lane * bytes, &v, bytes);
  }
};

// The registers of one instruction.
struct Operands {
  std::vector<Register> results, sources;  // sources: those of which some active lane is undefined
};

Operands operands_of(Warp& w, const Code& code, const Op& op, Mask mask) {
  Operands o;
  const OpValues& v = code.op_values[static_cast<size_t>(&op - code.ops.data())];
  auto at = [&](uint32_t i) {
    const ValuePlace& p = code.value_places[code.values[v.begin + i]];
    return Register{w.regs + p.offset, p.bytes};
  };
  for (uint32_t i = 0; i < v.written; ++i) o.results.push_back(at(i));
  for (uint32_t i = v.written; i < uint32_t{v.written} + v.read; ++i) {
    const Register r = at(i);
    const bool is_guard =
        op.guard != 0 && r.place == w.regs + op.guard && i + 1 == uint32_t{v.written} + v.read;
    const bool known = std::any_of(o.sources.begin(), o.sources.end(),
                                   [&](const Register& other) { return other.place == r.place; });
    if (!is_guard && !known && (w.undefined.lanes_at(r.place) & mask) != 0) o.sources.push_back(r);
  }
  return o;
}

void run(Warp& w, const Op& op) {
  op.fn[w.exec == kAllLanes](w, op);
}

void report_lanes(Warp& w, const Op& op, const uint8_t* place, Mask mask, Use use) {
  for (Mask m = w.undefined.lanes_at(place) & mask; m != 0; m &= m - 1)
    report_undefined(*w.block, w.undefined.at(place, first_lane(m)).origin, op, use);
}

// What the sources of each lane lack together.
struct Sum {
  UndefinedLane lane[kLanes];
};
Sum sum_of(const Warp& w, const std::vector<Register>& sources, Mask mask) {
  Sum sum;
  for (const Register& r : sources)
    for (Mask m = w.undefined.lanes_at(r.place) & mask; m != 0; m &= m - 1)
      sum.lane[first_lane(m)].add(w.undefined.at(r.place, first_lane(m)));
  return sum;
}

void follow_compute(Warp& w, const Op& op, const Operands& o) {
  const Sum sum = sum_of(w, o.sources, w.exec);
  run(w, op);
  for (const Register& r : o.results)
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      UndefinedLane u = sum.lane[first_lane(m)];
      if (u.bits != 0) u = {all_bits(r.bytes), u.origin, true};
      w.undefined.set(r.place, first_lane(m), u);
    }
}

// Runs the instruction with undefined bits inverted: of each source alone, then of all. Where a result's bit
// changes, it is undefined.
void follow_bits(Warp& w, const Op& op, const Operands& o) {
  const Sum sum = sum_of(w, o.sources, w.exec);
  std::vector<Register> kept = o.results;
  kept.insert(kept.end(), o.sources.begin(), o.sources.end());
  std::vector<std::vector<uint8_t>> before;
  for (const Register& r : kept) before.emplace_back(r.place, r.place + r.array_bytes());
  auto restore = [&] {
    for (size_t i = 0; i < kept.size(); ++i) std::memcpy(kept[i].place, before[i].data(), before[i].size());
  };
  const size_t n = o.sources.size(), trials = n == 1 ? 1 : n + 1;
  std::vector<uint64_t> seen(trials * o.results.size() * kLanes);
  auto slot = [&](size_t trial, size_t result, int lane) -> uint64_t& {
    return seen[(trial * o.results.size() + result) * kLanes + static_cast<size_t>(lane)];
  };
  for (size_t trial = 0; trial < trials; ++trial) {
    for (size_t s = 0; s < n; ++s) {
      if (trial != s && trial != n) continue;
      for (Mask m = w.undefined.lanes_at(o.sources[s].place) & w.exec; m != 0; m &= m - 1)
        o.sources[s].flip(first_lane(m), w.undefined.at(o.sources[s].place, first_lane(m)).bits);
    }
    run(w, op);
    for (size_t r = 0; r < o.results.size(); ++r)
      for (int lane = 0; lane < kLanes; ++lane) slot(trial, r, lane) = o.results[r].value(lane);
    restore();
  }
  run(w, op);
  for (size_t r = 0; r < o.results.size(); ++r)
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      UndefinedLane u = sum.lane[lane];
      u.bits = 0;
      for (size_t t = 0; t < trials; ++t) u.bits |= slot(t, r, lane) ^ o.results[r].value(lane);
      w.undefined.set(o.results[r].place, lane, u);
    }
}

// The combining predicate may settle the result whatever the comparison says.
void follow_compare(Warp& w, const Op& op, const Operands& o) {
  const std::string_view opcode = opcode_of(w, op);
  const bool both = opcode.find(".and.") != opcode.npos, either = opcode.find(".or.") != opcode.npos;
  const uint8_t* other = w.regs + op.src[2];
  Mask settled = 0;
  if (both) settled = ~predicate(w, op.src[2]);
  if (either) settled = predicate(w, op.src[2]);
  settled &= ~w.undefined.lanes_at(other);
  follow_compute(w, op, o);
  for (const Register& r : o.results) w.undefined.clear(r.place, settled & w.exec);
}

uint32_t value_register(const Op& op, int v) {
  return op.access.vec == 1 ? op.src[1] : op.list[v];
}

// Copies of structs carry their padding along, so a copy of undefined bytes stays one if they lie between
// defined ones: padding is narrower than the widest alignment.
bool may_be_padding(const Block& b, const Origin& o) {
  constexpr uint64_t kWidest = 16;
  const uint64_t begin = o.address / kWidest * kWidest;
  auto any_of_bytes = [&](auto is_written) {
    for (uint64_t at = begin; at < begin + kWidest; ++at)
      if (is_written(at)) return true;
    return false;
  };
  switch (o.mistake) {
    case Mistake::kUnwrittenGlobal:
      return any_of_bytes([&](uint64_t at) {
        return at >= o.from->base && at < o.from->end() && b.launch->env.memory.is_written(*o.from, at, 1);
      });
    case Mistake::kUnwrittenShared:
      return any_of_bytes([&](uint64_t at) {
        const SharedShadow& sh = b.shadow;
        if (at / 4 >= sh.words.size()) return false;
        const bool split = sh.split[at / 4] >= b.start_tick;
        const StampArrays& stamps = split ? sh.bytes : sh.words;
        const uint64_t where = split ? at : at / 4;
        return stamps.write_tick[where] >= b.start_tick || stamps.atomic_tick[where] >= b.start_tick;
      });
    case Mistake::kUnwrittenLocal:
      return any_of_bytes([&](uint64_t at) {
        const std::vector<uint32_t>& seen = b.local_written[o.thread / kLanes];
        return at < seen.size() && (seen[at] >> (o.thread % kLanes) & 1);
      });
    default:
      return false;
  }
}

void store_undefined(Warp& w, const Op& op, int lane, uint64_t address, const UndefinedByte* byte,
                     uint32_t bytes, Space space) {
  Block& b = *w.block;
  if (space == Space::kShared || space == Space::kLocal) {
    const uint32_t begin = static_cast<uint32_t>(address);
    const uint64_t end = space == Space::kShared ? b.shared.size() : b.local_size[w.id];
    if (uint64_t{begin} + bytes > end) return;
    for (uint32_t i = 0; i < bytes; ++i)
      if (byte[i].bits == 0)
        continue;
      else if (space == Space::kShared)
        b.undefined.shared[begin + i] = byte[i];
      else
        b.undefined.local[local_key(w, lane, begin + i)] = byte[i];
    return;
  }
  for (uint32_t i = 0; i < bytes; ++i)
    if (byte[i].bits != 0 && (byte[i].computed || !may_be_padding(b, b.undefined.origins[byte[i].origin])))
      return report_undefined(b, byte[i].origin, op, Use::kStore);
  Allocation* to = b.launch->env.memory.find(address);
  if (to == nullptr || to->all_written || address + bytes > to->end()) return;
  for (uint32_t i = 0; i < bytes; ++i)
    if (byte[i].bits != 0) {
      const uint64_t at = address + i - to->base;
      __atomic_fetch_and(&to->written[at / 64], ~(1ull << (at % 64)), __ATOMIC_RELAXED);
    }
}

void follow_store(Warp& w, const Op& op) {
  report_lanes(w, op, w.regs + op.src[0], w.exec, Use::kAddress);
  run(w, op);
  Mask lanes = 0;
  for (int v = 0; v < op.access.vec; ++v) lanes |= w.undefined.lanes_at(w.regs + value_register(op, v));
  uint64_t address[kLanes];
  lane_addresses(w, op, address);
  for (Mask m = lanes & w.exec; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    UndefinedByte bytes[32];
    for (int v = 0; v < op.access.vec; ++v) {
      const UndefinedLane u = w.undefined.at(w.regs + value_register(op, v), lane);
      for (int i = 0; i < op.access.bytes; ++i) {
        const uint8_t bits = static_cast<uint8_t>(u.bits >> (8 * i));
        bytes[v * op.access.bytes + i] = {u.origin, bits, u.computed && bits != 0};
      }
    }
    const uint64_t window = address[lane] & ~(kWindowBytes - 1);
    Space space = static_cast<Space>(op.space);
    if (space == Space::kGeneric)
      space = window == kSharedWindow  ? Space::kShared
              : window == kLocalWindow ? Space::kLocal
                                       : Space::kGlobal;
    store_undefined(w, op, lane, address[lane], bytes, uint32_t{op.access.bytes} * op.access.vec, space);
  }
}

// An element of the result depends on a row of A, a column of B and its own element of C. Lane l holds rows
// l / 4 and l / 4 + 8 of A and of C, column l / 4 of B, and columns 2 (l % 4) and the next of C.
void follow_matrix(Warp& w, const Code& code, const Op& op, const Operands& o) {
  if (opcode_of(w, op).find(".m16n8k") == std::string_view::npos) {
    UndefinedLane all;
    const Sum sum = sum_of(w, o.sources, kAllLanes);
    for (const UndefinedLane& u : sum.lane)
      if (u.bits != 0) all.add(u);
    run(w, op);
    for (const Register& r : o.results)
      for (int lane = 0; lane < kLanes; ++lane)
        w.undefined.set(r.place, lane, {all_bits(r.bytes), all.origin, true});
    return;
  }
  const size_t d = o.results.size(), total = code.lists[static_cast<size_t>(&op - code.ops.data())].size();
  const size_t b = (total - 2 * d) / 3, a = 2 * b;  // A has twice the rows that B has columns
  auto at = [&](size_t operand, int lane) { return w.undefined.at(w.regs + op.list[operand], lane); };
  auto add = [](UndefinedLane& to, const UndefinedLane& more) {
    if (more.bits != 0) to.add(more);
  };
  UndefinedLane rows[16], columns[8], own[4][kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (size_t i = 0; i < a; ++i) add(rows[lane / 4 + 8 * static_cast<int>(i & 1)], at(d + i, lane));
    for (size_t i = 0; i < b; ++i) add(columns[lane / 4], at(d + a + i, lane));
    for (size_t i = 0; i < d; ++i) add(own[i][lane], at(d + a + b + i, lane));
  }
  run(w, op);
  for (size_t i = 0; i < d; ++i)
    for (int lane = 0; lane < kLanes; ++lane) {
      const int row = lane / 4 + 8 * static_cast<int>(d == 2 ? i : i / 2), column = 2 * (lane % 4);
      UndefinedLane u = own[i][lane];
      add(u, rows[row]);
      if (d == 2 || i % 2 == 0) add(u, columns[column]);
      if (d == 2 || i % 2 == 1) add(u, columns[column + 1]);
      if (u.bits != 0) u = {all_bits(o.results[i].bytes), u.origin, true};
      w.undefined.set(o.results[i].place, lane, u);
    }
}

// Words of a .param area lie in the register file, 32 lanes each.
const uint8_t* area_word(const Warp& w, uint32_t area, uint64_t byte) {
  return w.regs + area + byte / 4 * (4 * kLanes);
}

void follow_param(Warp& w, const Op& op, bool loads) {
  run(w, op);
  for (int v = 0; v < op.access.vec; ++v) {
    const uint8_t* reg = w.regs + op.list[v];
    const uint64_t begin = op.access.offset + static_cast<uint64_t>(v) * op.access.bytes;
    for (Mask m = w.exec; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      UndefinedLane value = loads ? UndefinedLane{} : w.undefined.at(reg, lane);
      for (uint64_t i = 0; i < op.access.bytes; ++i) {
        const uint8_t* word = area_word(w, loads ? op.src[0] : op.dst, begin + i);
        const uint64_t shift = 8 * ((begin + i) % 4);
        UndefinedLane there = w.undefined.at(word, lane);
        if (loads) {
          there.bits = (there.bits >> shift & 0xff) << (8 * i);
          if (there.bits != 0) value.add(there);
          continue;
        }
        UndefinedLane part = value;
        part.bits = (value.bits >> (8 * i) & 0xff) << shift;
        there.bits &= ~(0xffull << shift);
        if (part.bits != 0) there.add(part);
        w.undefined.set(word, lane, there);
      }
      if (loads) w.undefined.set(reg, lane, value);
    }
  }
}

void follow(Warp& w, const Code& code, const Op& op) {
  const Rule rule = rule_of(w, op);
  if (rule == Rule::kParamLoad || rule == Rule::kParamStore)
    return follow_param(w, op, rule == Rule::kParamLoad);
  const Operands o = operands_of(w, code, op, rule == Rule::kMatrix ? kAllLanes : w.exec);
  auto run_fresh = [&] {
    for (const Register& r : o.results) w.undefined.clear(r.place, w.exec);
    run(w, op);
  };
  if (o.sources.empty()) return run_fresh();
  switch (rule) {
    case Rule::kBits:
      return follow_bits(w, op, o);
    case Rule::kCompare:
      return follow_compare(w, op, o);
    case Rule::kStore:
      return follow_store(w, op);
    case Rule::kMatrix:
      return follow_matrix(w, code, op, o);
    case Rule::kLoad:
      for (const Register& r : o.sources) report_lanes(w, op, r.place, w.exec, Use::kAddress);
      return run_fresh();
    case Rule::kAtomic:
    case Rule::kMatrixStore:
      for (const Register& r : o.sources) {
        const bool is_address = r.place == w.regs + op.src[0];
        const bool moves = rule == Rule::kMatrixStore && op.space == static_cast<uint8_t>(Space::kShared);
        if (is_address || !moves)
          report_lanes(w, op, r.place, w.exec,
                       is_address              ? Use::kAddress
                       : rule == Rule::kAtomic ? Use::kAtomic
                                               : Use::kStore);
      }
      return run_fresh();
    default:
      return follow_compute(w, op, o);
  }
}

bool is_plain_load(const Op& op) {
  return op.cls == InstrClass::kLoadGlobal || op.cls == InstrClass::kLoadShared ||
         op.cls == InstrClass::kLoadLocal || op.cls == InstrClass::kLoadConst;
}

}  // namespace

// ---- registers

UndefinedLane UndefinedRegisters::at(const uint8_t* place, int lane) const {
  const auto found = values.find(place);
  return found == values.end() || !(found->second.lanes >> lane & 1) ? UndefinedLane{}
                                                                     : found->second.lane[lane];
}

Mask UndefinedRegisters::lanes_at(const uint8_t* place) const {
  const auto found = values.find(place);
  return found == values.end() ? 0 : found->second.lanes;
}

void UndefinedRegisters::set(const uint8_t* place, int lane, const UndefinedLane& what) {
  if (what.bits == 0) return clear(place, 1u << lane);
  Value& v = values[place];
  v.lanes |= 1u << lane;
  v.lane[lane] = what;
}

void UndefinedRegisters::clear(const uint8_t* place, Mask lanes) {
  const auto found = values.find(place);
  if (found == values.end()) return;
  found->second.lanes &= ~lanes;
  if (found->second.lanes == 0) values.erase(found);
}

void UndefinedRegisters::clear_frame(const uint8_t* begin, const uint8_t* end) {
  std::erase_if(values, [&](const auto& entry) { return entry.first >= begin && entry.first < end; });
}

// ---- memory

void UndefinedMemory::clear() {
  if (origins.empty()) return;  // then so is all else
  origins.clear();
  loaded.clear();
  shared.clear();
  local.clear();
}

uint32_t UndefinedMemory::add(const Origin& origin) {
  if (origins.size() < kMostOrigins) origins.push_back(origin);
  return static_cast<uint32_t>(origins.size() - 1);
}

uint64_t local_key(const Warp& w, int lane, uint32_t address) {
  return uint64_t{w.id} << 37 | static_cast<uint64_t>(lane) << 32 | address;
}

void report_undefined(Block& b, uint32_t origin, const Op& op, Use use) {
  Origin& o = b.undefined.origins[origin];
  if (o.reported) return;
  o.reported = true;
  if (b.launch->is_torn && o.mistake == Mistake::kUnwrittenGlobal) {
    // A block that was left out may be what would have written it: nothing that follows from it is a mistake.
    if (use != Use::kStore) b.is_abandoned = true;
    return;
  }
  checks::undefined_value(b, o, op, use);
}

void note_unwritten(Warp& w, const Op& op, int lane, const Origin& origin, uint32_t at, uint32_t bytes) {
  UndefinedMemory& u = w.block->undefined;
  if (!is_plain_load(op) && op.cls != InstrClass::kAsyncCopy) {
    const bool again = !u.origins.empty() && u.origins.back().op == origin.op &&
                       u.origins.back().thread == origin.thread && u.origins.back().address == origin.address;
    if (!again) report_undefined(*w.block, u.add(origin), op, Use::kNow);
    return;
  }
  const bool same = !u.loaded.empty() && u.loaded.back().lane == lane;
  const uint32_t number = same ? u.loaded.back().what.origin : u.add(origin);
  for (uint32_t i = 0; i < bytes; ++i) u.loaded.push_back({lane, at + i, {number, 0xff, false}});
}

void note_moved(Warp& w, const uint32_t* address, uint32_t bytes, Mask mask) {
  UndefinedMemory& u = w.block->undefined;
  for (Mask m = mask; m != 0; m &= m - 1)
    for (uint32_t i = 0; i < bytes; ++i)
      if (const auto at = u.shared.find(address[first_lane(m)] + i); at != u.shared.end())
        u.loaded.push_back({first_lane(m), i, at->second});
}

void report_moved(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask) {
  UndefinedMemory& u = w.block->undefined;
  for (Mask m = mask; m != 0; m &= m - 1)
    for (uint32_t i = 0; i < bytes; ++i)
      if (const auto at = u.shared.find(address[first_lane(m)] + i); at != u.shared.end())
        report_undefined(*w.block, at->second.origin, op,
                         op.cls == InstrClass::kAtomic ? Use::kAtomic : Use::kExchange);
}

void take_loaded(Warp& w, const Op& op) {
  UndefinedMemory& u = w.block->undefined;
  const uint32_t size = op.access.bytes;
  for (const LoadedByte& byte : u.loaded) {
    const uint32_t v = byte.at / size, shift = 8 * (byte.at % size);
    const uint32_t reg = op.access.vec == 1 ? op.dst : op.list[v];
    if (reg == 0) continue;  // nobody wants it
    const uint8_t* place = w.regs + reg;
    UndefinedLane more{uint64_t{byte.what.bits} << shift, byte.what.origin, byte.what.computed};
    const bool is_sign = byte.at % size == size - 1 && (op.flags & kSigned) && (byte.what.bits & 0x80);
    if (is_sign) more.bits |= all_bits(op.access.reg_bytes) & ~all_bits(size);
    UndefinedLane now = w.undefined.at(place, byte.lane);
    now.add(more);
    w.undefined.set(place, byte.lane, now);
  }
  u.loaded.clear();
  w.run_end = nullptr;
}

void forget_shared(Block& b, const uint32_t* address, uint32_t bytes, Mask mask) {
  for (Mask m = mask; m != 0; m &= m - 1)
    for (uint32_t i = 0; i < bytes; ++i) b.undefined.shared.erase(address[first_lane(m)] + i);
}

// ---- execution

const Op* run_followed(Warp& w, const Code& code, const Op* op, const Op* end, Mask mask) {
  for (; op != end && w.undefined.any(); ++op) {
    if (op->guard != 0) report_lanes(w, *op, w.regs + op->guard, mask, Use::kBranch);
    w.exec = guard_mask(w, *op, mask);
    if (w.exec != 0) follow(w, code, *op);
    w.exec = mask;
  }
  return op;
}

void forget_dead(Warp& w, const Code& code, uint32_t block, Mask mask) {
  const std::vector<uint64_t>& live = code.live_values[block];
  std::vector<const uint8_t*> kept;
  for (size_t word = 0; word < live.size(); ++word)
    for (uint64_t m = live[word]; m != 0; m &= m - 1)
      kept.push_back(w.regs + code.value_places[word * 64 + static_cast<size_t>(std::countr_zero(m))].offset);
  const uint8_t *begin = w.regs + code.registers_begin, *end = w.regs + code.reg_bytes;
  auto& values = w.undefined.values;
  for (auto entry = values.begin(); entry != values.end();) {
    const bool is_register = entry->first >= begin && entry->first < end;
    if (is_register && std::find(kept.begin(), kept.end(), entry->first) == kept.end())
      entry->second.lanes &= ~mask;
    entry = entry->second.lanes == 0 ? values.erase(entry) : std::next(entry);
  }
}

void follow_control(Warp& w, const Code& code, const Op& op, Mask mask) {
  if (op.guard != 0) report_lanes(w, op, w.regs + op.guard, mask, Use::kBranch);
  switch (static_cast<Control>(op.control)) {
    case Control::kBranchIndex:
      return report_lanes(w, op, w.regs + op.src[0], mask, Use::kBranch);
    case Control::kBarrier: {
      const Operands o = operands_of(w, code, op, mask);
      for (const Register& r : o.sources) report_lanes(w, op, r.place, mask, Use::kExchange);
      for (const Register& r : o.results) w.undefined.clear(r.place, mask);
      return;
    }
    case Control::kWarpSync:
      for (int i = 1; i < 4; ++i) report_lanes(w, op, w.regs + op.src[i], mask, Use::kExchange);
      return;
    default:
      return;
  }
}

void follow_copied_word(Warp& w, const uint8_t* from, const uint8_t* to, Mask lanes) {
  for (Mask m = lanes; m != 0; m &= m - 1)
    w.undefined.set(to, first_lane(m), w.undefined.at(from, first_lane(m)));
}

}  // namespace vgpu
