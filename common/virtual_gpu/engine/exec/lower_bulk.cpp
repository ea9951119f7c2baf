// Lowering of cp.async.bulk, cp.reduce.async.bulk, their tensor forms and their groups.
#include <algorithm>

#include "exec/async_detail.h"
#include "exec/bulk_ops.h"
#include "exec/lowering.h"
#include "exec/memory_ops.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;

namespace {

template <class Value>
struct NamedPart {
  std::string_view name;
  Value value;
};

constexpr NamedPart<BulkReduction> kReductions[] = {
    {"add", BulkReduction::kAdd}, {"min", BulkReduction::kMin}, {"max", BulkReduction::kMax},
    {"inc", BulkReduction::kInc}, {"dec", BulkReduction::kDec}, {"and", BulkReduction::kAnd},
    {"or", BulkReduction::kOr},   {"xor", BulkReduction::kXor},
};
constexpr NamedPart<BulkType> kTypes[] = {
    {"u32", BulkType::kU32}, {"s32", BulkType::kS32},   {"u64", BulkType::kU64}, {"s64", BulkType::kS64},
    {"f16", BulkType::kF16}, {"bf16", BulkType::kBf16}, {"f32", BulkType::kF32}, {"f64", BulkType::kF64},
    {"b32", BulkType::kU32}, {"b64", BulkType::kU64},
};
// What says nothing that the operands do not say.
constexpr std::string_view kSilent[] = {
    "cp",         "reduce", "async", "bulk",   "tile",     "mbarrier::complete_tx::bytes",
    "bulk_group", "L2",     "noftz", "tensor", "prefetch", "read"};

}  // namespace

void FunctionLowering::lower_bulk(const ptx::Instruction& in) {
  require("sm_90");
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  BulkDetail d;
  bool tensor = false, prefetch = false, policy = false, commits = false, waits = false, has_offsets = false;
  std::vector<std::string_view> spaces;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view t = parts[i];
    tensor |= t == "tensor";
    prefetch |= t == "prefetch";
    if (t == "commit_group") {
      commits = true;
    } else if (t == "wait_group") {
      waits = true;
    } else if (t == "L2::cache_hint") {
      policy = true;
    } else if (t == "multicast::cluster") {
      d.multicast = true;
    } else if (t == "im2col" || t == "im2col_no_offs") {
      d.im2col = true;
      has_offsets = t == "im2col";
    } else if (t == "global" || t == "shared::cta" || t == "shared::cluster") {
      spaces.push_back(t);
    } else if (t.size() == 2 && t[1] == 'd' && t[0] >= '1' && t[0] <= '5') {
      d.rank = t[0] - '0';
    } else if (const auto r = std::ranges::find(kReductions, t, &NamedPart<BulkReduction>::name);
               r != std::end(kReductions)) {
      d.reduction = r->value;
    } else if (const auto y = std::ranges::find(kTypes, t, &NamedPart<BulkType>::name);
               y != std::end(kTypes)) {
      d.type = y->value;
    } else if (std::ranges::find(kSilent, t) == std::end(kSilent)) {
      throw NotImplemented{"modifier ." + std::string(t)};
    }
  }
  if (commits || waits) {
    d.kind = commits ? BulkKind::kCommit : BulkKind::kWait;
    d.waits_for_reads = parts.back() == "read";
    if (waits) d.groups = static_cast<uint32_t>(immediate(in.operands.at(0)));
    const BulkDetail* kept = keep(d);
    OpFn fn = commits ? bulk_commit : bulk_wait;
    VirtualOp& v = emit(fn, fn, InstrClass::kOther);
    v.op.bulk = kept;
    return;
  }
  if (tensor != (d.rank > 0) || (d.im2col && d.rank < 3)) throw NotImplemented{"this number of dimensions"};
  VirtualOp v;
  size_t at = 0;
  auto next = [&](int bytes) { return place(in.operands.at(at++), v, bytes); };
  auto next_map = [&] {
    Operand o = in.operands.at(at++);
    if (o.kind != OperandKind::kAddress) throw NotImplemented{"its tensor map"};
    std::vector<Operand> coordinates;
    for (const Operand& item : o.items) {
      if (item.kind == OperandKind::kVector)
        coordinates.insert(coordinates.end(), item.items.begin(), item.items.end());
      else
        coordinates.push_back(item);
    }
    o.items.clear();
    if (static_cast<int>(coordinates.size()) != d.rank) throw NotImplemented{"its coordinates"};
    d.map = place(o, v, 8);
    for (int i = 0; i < d.rank; ++i) d.coordinates[i] = place(coordinates[static_cast<size_t>(i)], v, 4);
  };
  // An operand of 16 bits, widened where it is a register.
  auto half = [&](const Operand& o) {
    if (o.kind != OperandKind::kReg || reg_bytes(o) != 2) return place(o, v, 4);
    const OpForm* widen = find_form("cvt.u32.u16#32.16");
    if (widen == nullptr) widen = find_form("cvt.u32.u16");
    if (widen == nullptr) throw NotImplemented{"an operand of 16 bits"};
    Place p;
    const uint32_t wide = temporary(4);
    VirtualOp& c = emit(widen->masked, widen->full, widen->cls);
    c.op.dst = wide;
    c.op.src[0] = reg_slot(o.reg);
    c.defs.push_back(wide);
    c.uses.push_back(reg_slot(o.reg));
    p.at = static_cast<int8_t>(v.list.size());
    v.list.push_back(wide);
    v.uses.push_back(wide);
    return p;
  };
  auto next_offsets = [&] {
    if (!has_offsets) return;
    const Operand& o = in.operands.at(at++);
    if (o.kind != OperandKind::kVector || static_cast<int>(o.items.size()) != d.rank - 2)
      throw NotImplemented{"its offsets"};
    for (size_t i = 0; i < o.items.size(); ++i) d.offsets[i] = half(o.items[i]);
  };
  if (prefetch) {
    if (d.im2col && !has_offsets) throw NotImplemented{"this mode"};
    d.kind = BulkKind::kPrefetch;
    if (tensor) {
      next_map();
      next_offsets();
    } else {
      d.source = next(8);
      d.size = next(4);
    }
  } else {
    if (spaces.size() != 2) throw NotImplemented{"its state spaces"};
    const bool stores = spaces[0] == "global";
    d.kind = stores ? BulkKind::kStore : spaces[1] == "global" ? BulkKind::kLoad : BulkKind::kToCluster;
    if (d.im2col && has_offsets == stores) throw NotImplemented{"this mode"};
    if (tensor && stores) {
      next_map();
      d.source = next(8);
    } else if (tensor) {
      d.destination = next(8);
      next_map();
      d.barrier = next(8);
      next_offsets();
    } else {
      d.destination = next(8);
      d.source = next(8);
      d.size = next(4);
      if (!stores) d.barrier = next(8);
    }
    if (d.multicast) d.blocks = half(in.operands.at(at++));
  }
  if (policy) ++at;
  if (at != in.operands.size()) throw NotImplemented{"its operands"};
  kernel_.traits.copies_bulk |= d.kind == BulkKind::kLoad || d.kind == BulkKind::kStore;
  emit(bulk_copy, std::move(v)).op.bulk = keep(d);
}

// st.async{.weak}.shared::cluster.mbarrier::complete_tx::bytes{.v2|.v4}.type [address], value, [barrier] and
// red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.operation.type, likewise.
void FunctionLowering::lower_remote_store(const ptx::Instruction& in) {
  require("sm_90");
  BulkDetail d;
  d.kind = BulkKind::kValues;
  int vec = 1;
  ptx::Type type;
  bool typed = false;
  for (std::string_view t : split_opcode(in.opcode)) {
    if (t == "v2" || t == "v4")
      vec = t[1] - '0';
    else if (const auto r = std::ranges::find(kReductions, t, &NamedPart<BulkReduction>::name);
             r != std::end(kReductions))
      d.reduction = r->value;
    else if (parse_type(t, &type) && t != "pred") {
      typed = true;
      if (const auto y = std::ranges::find(kTypes, t, &NamedPart<BulkType>::name); y != std::end(kTypes))
        d.type = y->value;
    } else if (t != "st" && t != "red" && t != "async" && t != "weak" && t != "relaxed" && t != "cluster" &&
               t != "shared::cluster" && t != "mbarrier::complete_tx::bytes")
      throw NotImplemented{"modifier ." + std::string(t)};
  }
  if (!typed || in.operands.size() != 3 || type.bytes() < 4) throw NotImplemented{"its operands"};
  VirtualOp v;
  d.destination = place(in.operands[0], v, 4);
  const Operand& value = in.operands[1];
  const std::vector<Operand> items =
      value.kind == OperandKind::kVector ? value.items : std::vector<Operand>{value};
  if (static_cast<int>(items.size()) != vec) throw NotImplemented{"a vector of that length"};
  d.value_bytes = type.bytes();
  d.rank = 0;
  d.values = vec;
  for (int i = 0; i < vec; ++i) d.coordinates[i] = place(items[static_cast<size_t>(i)], v, type.bytes());
  d.barrier = place(in.operands[2], v, 4);
  emit(remote_store, std::move(v)).op.bulk = keep(d);
}

}  // namespace vgpu
