// Lowering of loads, stores, atomics, asynchronous copies and matrix accesses.
#include <algorithm>

#include "exec/lowering.h"
#include "exec/memory_ops.h"
#include "exec/traffic.h"
#include "ops/matrix.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

namespace {

// The modifiers of a memory instruction, sorted out.
struct Modifiers {
  Space space = Space::kGeneric;
  ptx::Type type;
  std::string_view type_name;
  int vec = 1;
  bool polls = false;      // volatile, relaxed or acquire load
  bool releases = false;   // volatile, relaxed or release store
  bool publishes = false;  // release, for more than the block
  bool cache_hint = false;
  std::vector<std::string_view> rest;
};

bool is_hint(std::string_view t) {
  static constexpr std::string_view kHints[] = {"weak", "ca",  "cg",      "cs",      "lu",
                                                "cv",   "wb",  "wt",      "nc",      "cta",
                                                "gpu",  "sys", "cluster", "unified", "mmio"};
  if (std::find(std::begin(kHints), std::end(kHints), t) != std::end(kHints)) return true;
  return t.starts_with("L1::") || (t.starts_with("L2::") && t != "L2::cache_hint");
}

Modifiers sort_modifiers(std::string_view opcode) {
  Modifiers m;
  bool typed = false, for_block = false;
  for (std::string_view t : split_opcode(opcode)) {
    ptx::Type type;
    if (t == "global")
      m.space = Space::kGlobal;
    else if (t == "shared" || t == "shared::cta" || t == "shared::cluster")
      m.space = Space::kShared;
    else if (t == "local")
      m.space = Space::kLocal;
    else if (t == "const")
      m.space = Space::kConst;
    else if (t == "param" || t == "param::entry" || t == "param::func")
      m.space = Space::kParam;
    else if (t == "v2")
      m.vec = 2;
    else if (t == "v4")
      m.vec = 4;
    else if (t == "volatile" || t == "relaxed" || t == "acquire")
      m.polls = m.releases = true;
    else if (t == "release" || t == "acq_rel")
      m.polls = m.releases = m.publishes = true;
    else if (t == "L2::cache_hint")
      m.cache_hint = true;
    else if (is_hint(t))
      for_block |= t == "cta";
    else if (parse_type(t, &type) && t != "pred")
      m.type = type, m.type_name = t, typed = true;
    else
      m.rest.push_back(t);
  }
  if (!typed) m.type.bits = 0;
  m.publishes &= !for_block;
  return m;
}

void refuse_rest(const Modifiers& m, size_t expected) {
  if (m.rest.size() > expected) throw NotImplemented{"modifier ." + std::string(m.rest[expected])};
}

InstrClass load_class(Space s) {
  switch (s) {
    case Space::kShared:
      return InstrClass::kLoadShared;
    case Space::kLocal:
      return InstrClass::kLoadLocal;
    case Space::kConst:
      return InstrClass::kLoadConst;
    case Space::kParam:
      return InstrClass::kLoadParam;
    default:
      return InstrClass::kLoadGlobal;
  }
}
InstrClass store_class(Space s) {
  return s == Space::kShared  ? InstrClass::kStoreShared
         : s == Space::kLocal ? InstrClass::kStoreLocal
                              : InstrClass::kStoreGlobal;
}

AccessDetail access(uint64_t offset, ptx::Type type, int vec, int reg_bytes) {
  return {offset, static_cast<uint8_t>(type.bytes()), static_cast<uint8_t>(vec),
          static_cast<uint8_t>(reg_bytes)};
}

}  // namespace

void FunctionLowering::lower_load(const ptx::Instruction& in) {
  const Modifiers m = sort_modifiers(in.opcode);
  refuse_rest(m, 1);  // rest[0] is "ld" itself
  if (m.type.bits == 0) throw NotImplemented{"its type"};
  if (m.space == Space::kParam) return lower_param_access(in, true, m.type, m.vec);
  if (in.operands.size() != (m.cache_hint ? 3u : 2u)) throw NotImplemented{"its operands"};
  const Operand& d = in.operands[0];
  std::vector<Operand> targets = d.kind == OperandKind::kVector ? d.items : std::vector<Operand>{d};
  if (static_cast<int>(targets.size()) != m.vec) throw NotImplemented{"a vector of that length"};
  int width = 0;
  std::vector<uint32_t> slots;
  for (const Operand& t : targets) {
    if (t.kind == OperandKind::kSink) {
      slots.push_back(0);
      continue;
    }
    if (t.kind != OperandKind::kReg || reg_bytes(t) < std::max(2, m.type.bytes()))
      throw NotImplemented{"its destination"};
    if (width != 0 && width != reg_bytes(t)) throw NotImplemented{"destinations of different widths"};
    width = reg_bytes(t);
    slots.push_back(reg_slot(t.reg));
  }
  if (width == 0) width = std::max(2, m.type.bytes());
  const bool is_signed = m.type.cls == ptx::TypeClass::kSigned && m.type.bytes() < width;
  OpFn fn = load_fn(m.space, m.type.bytes(), m.vec, width);
  VirtualOp& v = emit(fn, fn, load_class(m.space));
  v.op.access = access(address(in.operands[1], v, m.space), m.type, m.vec, width);
  v.op.space = static_cast<uint8_t>(m.space);
  v.op.flags |= static_cast<uint8_t>((is_signed ? kSigned : 0) | (m.polls ? kPolls : 0));
  if (m.vec == 1)
    v.op.dst = slots[0];
  else
    v.list = slots;
  v.defs = slots;
}

void FunctionLowering::lower_store(const ptx::Instruction& in) {
  if (in.opcode.starts_with("st.async.")) return lower_remote_store(in);
  const Modifiers m = sort_modifiers(in.opcode);
  refuse_rest(m, 1);
  if (m.type.bits == 0) throw NotImplemented{"its type"};
  if (m.space == Space::kParam) return lower_param_access(in, false, m.type, m.vec);
  if (m.space == Space::kConst) throw NotImplemented{"a store to constant memory"};
  if (in.operands.size() != (m.cache_hint ? 3u : 2u)) throw NotImplemented{"its operands"};
  const Operand& s = in.operands[1];
  const std::vector<Operand> values = s.kind == OperandKind::kVector ? s.items : std::vector<Operand>{s};
  if (static_cast<int>(values.size()) != m.vec) throw NotImplemented{"a vector of that length"};
  int width = 0;
  for (const Operand& o : values)
    if (o.kind == OperandKind::kReg) {
      if (width != 0 && width != reg_bytes(o)) throw NotImplemented{"sources of different widths"};
      width = reg_bytes(o);
    }
  if (width == 0) width = std::max(2, m.type.bytes());
  if (width < m.type.bytes()) throw NotImplemented{"a source narrower than the store"};
  const char cls = m.type.cls == ptx::TypeClass::kFloat ? 'f' : 'b';
  std::vector<uint32_t> slots;
  for (const Operand& o : values) slots.push_back(source(o, width, cls));
  OpFn fn = store_fn(m.space, m.type.bytes(), m.vec, width);
  VirtualOp& v = emit(fn, fn, store_class(m.space));
  v.op.access = access(address(in.operands[0], v, m.space), m.type, m.vec, width);
  v.op.space = static_cast<uint8_t>(m.space);
  v.op.flags |= static_cast<uint8_t>((m.releases ? kReleases : 0) | (m.publishes ? kPublishes : 0));
  if (m.vec == 1)
    v.op.src[1] = slots[0];
  else
    v.list = slots;
  v.uses.insert(v.uses.end(), slots.begin(), slots.end());
}

// ld.param / st.param. A kernel's parameters are constant memory; a function's live in its frame.
void FunctionLowering::lower_param_access(const ptx::Instruction& in, bool is_load, ptx::Type type, int vec) {
  if (in.operands.size() != 2) throw NotImplemented{"its operands"};
  const Operand& where = in.operands[is_load ? 1 : 0];
  const Operand& what = in.operands[is_load ? 0 : 1];
  const std::vector<Operand> items =
      what.kind == OperandKind::kVector ? what.items : std::vector<Operand>{what};
  if (static_cast<int>(items.size()) != vec) throw NotImplemented{"a vector of that length"};
  int width = 0;
  for (const Operand& o : items)
    if (o.kind == OperandKind::kReg) width = reg_bytes(o);
  if (width == 0) width = std::max(2, type.bytes());
  const bool of_kernel = where.reg >= 0 || entry_param_.count(where.name) != 0;
  if (of_kernel && (!is_load || !fn_.is_entry))
    throw NotImplemented{"a parameter access through a register in a function"};
  std::vector<uint32_t> slots;
  for (const Operand& o : items) slots.push_back(is_load ? destination(o, width) : source(o, width, 'b'));
  const bool is_signed = type.cls == ptx::TypeClass::kSigned && type.bytes() < width;
  OpFn fn = of_kernel ? load_fn(Space::kParam, type.bytes(), vec, width) : is_load ? param_load : param_store;
  VirtualOp& v = emit(fn, fn, InstrClass::kLoadParam);
  v.op.access = access(where.value, type, vec, width);
  v.op.space = static_cast<uint8_t>(Space::kParam);
  v.op.flags |= static_cast<uint8_t>(is_signed ? kSigned : 0);
  if (of_kernel) {
    address(where, v, Space::kParam);
    const auto held = parameter_address_.find(where.reg);
    if (where.reg < 0) v.parameter = static_cast<int>(entry_param_.at(where.name) + where.value);
    if (held != parameter_address_.end()) v.parameter = static_cast<int>(held->second + where.value);
  } else {
    const uint32_t slot = param_slot(where.name);
    const int64_t at = static_cast<int64_t>(where.value);
    if (at < 0 ||
        static_cast<uint64_t>(at) + static_cast<uint64_t>(type.bytes() * vec) > slots_[slot].area_bytes)
      throw NotImplemented{"an access outside of parameter " + where.name};
    (is_load ? v.op.src[0] : v.op.dst) = slot;
  }
  v.list = slots;
  (is_load ? v.defs : v.uses).insert((is_load ? v.defs : v.uses).end(), slots.begin(), slots.end());
  if (of_kernel && vec == 1) {
    v.op.dst = slots[0];
    v.list.clear();
  }
}

void FunctionLowering::lower_atomic(const ptx::Instruction& in) {
  if (in.opcode.starts_with("red.async.")) return lower_remote_store(in);
  const Modifiers m = sort_modifiers(in.opcode);
  const bool reduces = m.rest[0] == "red";
  for (const std::string_view order : {".acquire", ".release", ".acq_rel"})
    kernel_.traits.uses_fences |= in.opcode.find(order) != std::string_view::npos;
  std::string_view operation;
  int vec = m.vec;
  for (std::string_view t : m.rest) {
    static constexpr std::string_view kKnown[] = {"add", "and", "or",  "xor",  "min",
                                                  "max", "inc", "dec", "exch", "cas"};
    if (std::find(std::begin(kKnown), std::end(kKnown), t) != std::end(kKnown))
      operation = t;
    else if (t == "v8")
      vec = 8;
    else if (t != "red" && t != "atom" && t != "noftz")
      throw NotImplemented{"modifier ." + std::string(t)};
  }
  // Only sums of floats come as vectors that the table has, and the whole is at most 16 bytes.
  const bool fits = vec == 1 || (operation == "add" && m.type.cls == ptx::TypeClass::kFloat &&
                                 m.type.bytes() < 8 && m.type.bytes() * vec <= 16);
  if (operation.empty() || m.type.bits == 0 || !fits) throw NotImplemented{"this kind of atomic"};
  if (vec > 1) require("sm_90");
  OpFn fn = atomic_fn(m.space, operation, m.type_name, vec);
  if (fn == nullptr) throw NotImplemented{"an atomic ." + std::string(operation) + " on this type"};
  const size_t first = reduces ? 0 : 1;
  const size_t values = operation == "cas" ? 2 : 1;
  if (in.operands.size() != first + 1 + values + (m.cache_hint ? 1 : 0)) throw NotImplemented{"its operands"};
  const int bytes = m.type.bytes();
  const char cls = m.type.cls == ptx::TypeClass::kFloat ? 'f' : 'b';
  const auto items = [&](const Operand& o) {
    std::vector<Operand> found = o.kind == OperandKind::kVector ? o.items : std::vector<Operand>{o};
    if (static_cast<int>(found.size()) != vec) throw NotImplemented{"a vector of that length"};
    return found;
  };
  std::vector<uint32_t> slots;
  for (size_t i = 0; i < values; ++i)
    for (const Operand& o : items(in.operands[first + 1 + i])) slots.push_back(source(o, bytes, cls));
  const Operand& value = in.operands[first + 1];
  const bool counts_up = operation == "add" && value.kind == OperandKind::kInt && value.value == 1;
  const bool loops = operation == "add" && (m.type.cls == ptx::TypeClass::kFloat || bytes == 8);
  const SharedAtomic kind = operation == "cas" ? SharedAtomic::kSwap
                            : loops            ? SharedAtomic::kSwapLoop
                            : counts_up        ? SharedAtomic::kCountUp
                                               : SharedAtomic::kPlain;
  const bool commutes = m.type.cls != ptx::TypeClass::kFloat && operation != "exch" && operation != "cas" &&
                        operation != "inc" && operation != "dec";
  VirtualOp& v = emit(fn, fn, InstrClass::kAtomic);
  v.op.atomic = {address(in.operands[first], v, m.space), static_cast<uint8_t>(bytes * vec), kind, commutes};
  v.op.space = static_cast<uint8_t>(m.space);
  v.op.flags |= static_cast<uint8_t>(m.publishes ? kPublishes : 0);
  v.op.src[1] = slots[0];
  if (values == 2) v.op.src[2] = slots[1];
  v.uses.insert(v.uses.end(), slots.begin(), slots.end());
  std::vector<uint32_t> before(static_cast<size_t>(vec), 0);
  if (!reduces) {
    const std::vector<Operand> results = items(in.operands[0]);
    std::transform(results.begin(), results.end(), before.begin(),
                   [&](const Operand& o) { return destination(o, bytes); });
  }
  std::copy_if(before.begin(), before.end(), std::back_inserter(v.defs), [](uint32_t s) { return s != 0; });
  if (vec == 1) {
    v.op.dst = before[0];
  } else {
    v.list = before;
    v.list.insert(v.list.end(), slots.begin(), slots.end());
  }
  if (v.defs.empty()) v.op.flags |= kResultUnused;
}

// cp.async[.ca|.cg].shared.global [dst], [src], size{, src-size}{, policy}; commit_group; wait_group;
// wait_all.
void FunctionLowering::lower_async(const ptx::Instruction& in) {
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  if (in.opcode.starts_with("cp.async.mbarrier.arrive")) return lower_copy_arrive(in);
  if (in.opcode.find(".async.bulk") != std::string::npos) return lower_bulk(in);
  if (parts.size() < 3 || parts[1] != "async") throw NotImplemented{"this kind of asynchronous copy"};
  if (parts[2] == "commit_group" || parts[2] == "wait_all" || parts[2] == "wait_group") {
    OpFn fn = parts[2] == "commit_group" ? async_commit
              : parts[2] == "wait_all"   ? async_wait_all
                                         : async_wait_group;
    VirtualOp& v = emit(fn, fn, InstrClass::kAsyncCopy);
    if (parts[2] == "wait_group") v.op.groups = immediate(in.operands.at(0));
    return;
  }
  const Modifiers m = sort_modifiers(in.opcode);
  for (size_t i = 3; i < parts.size(); ++i)
    if (parts[i] != "shared" && parts[i] != "shared::cta" && parts[i] != "global" &&
        parts[i] != "L2::cache_hint" && !is_hint(parts[i]))
      throw NotImplemented{"modifier ." + std::string(parts[i])};
  const bool bypass = parts[2] == "cg";
  if (!bypass && parts[2] != "ca") throw NotImplemented{"modifier ." + std::string(parts[2])};
  size_t count = in.operands.size() - (m.cache_hint ? 1 : 0);
  if (count < 3 || count > 4) throw NotImplemented{"its operands"};
  const uint64_t bytes = immediate(in.operands[2]);
  if (bypass ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
    throw NotImplemented{"a copy of " + std::to_string(bytes) +
                         " bytes (.cg takes 16; .ca takes 4, 8 or 16)"};
  uint32_t size = 0;
  CopySize said = CopySize::kWhole;
  if (count == 4) {
    const Operand& o = in.operands[3];
    const bool ignore = o.kind == OperandKind::kReg && reg_bytes(o) == 0;
    said = ignore ? CopySize::kUnlessPredicate : CopySize::kRegister;
    size = ignore ? predicate_source(o) : source(o, 4);
  }
  VirtualOp& v = emit(async_copy, async_copy, InstrClass::kAsyncCopy);
  const uint64_t global_offset = address(in.operands[1], v, Space::kGlobal);
  if (!(v.op.flags & kAddress64)) throw NotImplemented{"a 32-bit global address"};
  v.op.src[1] = v.op.src[0];
  v.op.flags = 0;
  const uint64_t shared_offset = address(in.operands[0], v, Space::kShared);
  v.op.copy = {static_cast<uint32_t>(shared_offset), static_cast<int32_t>(global_offset),
               static_cast<uint8_t>(bytes), said, bypass};
  v.op.src[2] = size;
  if (size) v.uses.push_back(size);
}

void FunctionLowering::lower_ldmatrix(const ptx::Instruction& in) {
  int count = 0;
  bool trans = false, type = false;
  for (std::string_view t : split_opcode(in.opcode)) {
    if (t == "x1")
      count = 1;
    else if (t == "x2")
      count = 2;
    else if (t == "x4")
      count = 4;
    else if (t == "trans")
      trans = true;
    else if (t == "b16")
      type = true;
    else if (t != "ldmatrix" && t != "stmatrix" && t != "sync" && t != "aligned" && t != "m8n8" &&
             t != "shared" && t != "shared::cta")
      throw NotImplemented{"modifier ." + std::string(t)};
  }
  if (count == 0 || !type || in.operands.size() != 2) throw NotImplemented{"its operands"};
  const bool stores = in.opcode.starts_with("stmatrix");
  const Operand& regs = in.operands[stores ? 1 : 0];
  const std::vector<Operand> items =
      regs.kind == OperandKind::kVector ? regs.items : std::vector<Operand>{regs};
  if (static_cast<int>(items.size()) != count) throw NotImplemented{"a vector of that length"};
  std::vector<uint32_t> slots;
  for (const Operand& o : items) slots.push_back(stores ? source(o, 4) : destination(o, 4));
  VirtualOp& v = emit(matrix_on_partial_warp, stores ? store_matrix : load_matrix, InstrClass::kMatrixLoad);
  const uint64_t offset = address(in.operands[stores ? 0 : 1], v, Space::kShared);
  v.op.matrix = {offset, static_cast<uint8_t>(count), trans};
  v.list = slots;
  (stores ? v.uses : v.defs).insert((stores ? v.uses : v.defs).end(), slots.begin(), slots.end());
}

void FunctionLowering::lower_stmatrix(const ptx::Instruction& in) {
  lower_ldmatrix(in);
}

// wmma.mma is in the opcode tables; wmma.load and wmma.store are memory accesses laid out by `wmma_layout`.
void FunctionLowering::lower_wmma(const ptx::Instruction& in) {
  const bool loads = in.opcode.starts_with("wmma.load"), stores = in.opcode.starts_with("wmma.store");
  if (!loads && !stores) {
    if (!try_table(in)) throw NotImplemented{"this shape or type"};
    return;
  }
  const WmmaLayout* layout = wmma_layout(in.opcode);
  if (layout == nullptr) throw NotImplemented{"this shape or type"};
  if (in.operands.size() < 2 || in.operands.size() > 3) throw NotImplemented{"its operands"};
  const Operand& regs = in.operands[stores ? 1 : 0];
  const std::vector<Operand> items =
      regs.kind == OperandKind::kVector ? regs.items : std::vector<Operand>{regs};
  if (static_cast<int>(items.size()) != layout->registers) throw NotImplemented{"a vector of that length"};
  std::vector<uint32_t> slots;
  for (const Operand& o : items)
    slots.push_back(stores ? source(o, layout->register_bytes) : destination(o, layout->register_bytes));
  const uint32_t stride =
      in.operands.size() == 3
          ? source(in.operands[2], 4)
          : constant(static_cast<uint64_t>(layout->row_major ? layout->cols : layout->rows), 4);
  const Modifiers m = sort_modifiers(in.opcode);
  VirtualOp& v = emit(matrix_on_partial_warp, stores ? wmma_store : wmma_load, InstrClass::kMatrixLoad);
  const uint32_t offset = constant(address(in.operands[stores ? 0 : 1], v, m.space), 8);
  v.op.wmma = layout;
  v.op.src[1] = stride;
  v.op.src[2] = offset;
  v.op.space = static_cast<uint8_t>(m.space);
  v.uses.insert(v.uses.end(), {stride, offset});
  v.list = slots;
  (stores ? v.uses : v.defs).insert((stores ? v.uses : v.defs).end(), slots.begin(), slots.end());
}

void FunctionLowering::lower_cvta(const ptx::Instruction& in) {
  const bool to = in.opcode.find(".to.") != std::string::npos;
  const bool narrow = in.opcode.ends_with("u32");
  if (narrow || in.operands.size() != 2) throw NotImplemented{"a 32-bit generic address"};
  const Modifiers m = sort_modifiers(in.opcode);
  const uint32_t d = destination(in.operands[0], 8);
  const uint32_t s = source(in.operands[1], 8);
  VirtualOp& v = emit(to ? generic_to : generic_from, to ? generic_to : generic_from, InstrClass::kMove);
  v.op.dst = d;
  v.op.src[0] = s;
  v.op.window = m.space == Space::kShared  ? kSharedWindow
                : m.space == Space::kLocal ? kLocalWindow
                : m.space == Space::kParam ? kParamWindow
                                           : 0;
  v.defs.push_back(d);
  v.uses.push_back(s);
}

void FunctionLowering::lower_isspacep(const ptx::Instruction& in) {
  const Modifiers m = sort_modifiers(in.opcode);
  const uint32_t d = destination(in.operands.at(0), 0);
  const uint32_t s = source(in.operands.at(1), 8);
  VirtualOp& v = emit(is_space, is_space, InstrClass::kInteger);
  v.op.dst = d;
  v.op.src[0] = s;
  v.op.space = static_cast<uint8_t>(m.space);
  v.defs.push_back(d);
  v.uses.push_back(s);
}

void FunctionLowering::lower_fence(const ptx::Instruction& in) {
  if (lower_async_fence(in)) return;
  kernel_.traits.uses_fences = true;
  const std::vector<std::string_view> parts = split_opcode(in.opcode);
  const bool for_block = std::find(parts.begin(), parts.end(), "cta") != parts.end();
  VirtualOp& v = emit(memory_fence, memory_fence, InstrClass::kFence);
  v.op.flags |= static_cast<uint8_t>(for_block ? 0 : kPublishes);
}

// Hints that change no result: prefetches, priorities, profiling marks.
void FunctionLowering::lower_ignored(const ptx::Instruction&) {
  emit(nothing, nothing, InstrClass::kOther);
}

void FunctionLowering::lower_createpolicy(const ptx::Instruction& in) {
  const uint32_t d = destination(in.operands.at(0), 8);
  const OpForm* move = find_form("mov.b64");
  if (move == nullptr) throw NotImplemented{"a cache policy"};
  const uint32_t zero = constant(0, 8);
  VirtualOp& v = emit(move->masked, move->full, InstrClass::kMove);
  v.op.dst = d;
  v.op.src[0] = zero;
  v.defs.push_back(d);
  v.uses.push_back(zero);
}

}  // namespace vgpu
