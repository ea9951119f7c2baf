#include "exec/lowering.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "exec/lanes.h"
#include "exec/memory_ops.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Space;

namespace {

struct SpecialName {
  const char* name;
  Special what;
};

constexpr SpecialName kSpecials[] = {
    {"%tid.x", Special::kTidX},
    {"%tid.y", Special::kTidY},
    {"%tid.z", Special::kTidZ},
    {"%ntid.x", Special::kNtidX},
    {"%ntid.y", Special::kNtidY},
    {"%ntid.z", Special::kNtidZ},
    {"%ctaid.x", Special::kCtaidX},
    {"%ctaid.y", Special::kCtaidY},
    {"%ctaid.z", Special::kCtaidZ},
    {"%nctaid.x", Special::kNctaidX},
    {"%nctaid.y", Special::kNctaidY},
    {"%nctaid.z", Special::kNctaidZ},
    {"%laneid", Special::kLaneId},
    {"%warpid", Special::kWarpId},
    {"%nwarpid", Special::kNWarpId},
    {"%smid", Special::kSmId},
    {"%nsmid", Special::kNSmId},
    {"%gridid", Special::kGridId},
    {"%lanemask_eq", Special::kLaneMaskEq},
    {"%lanemask_lt", Special::kLaneMaskLt},
    {"%lanemask_le", Special::kLaneMaskLe},
    {"%lanemask_gt", Special::kLaneMaskGt},
    {"%lanemask_ge", Special::kLaneMaskGe},
    {"%dynamic_smem_size", Special::kDynamicSmem},
    {"%envreg1", Special::kGridWorkspaceHigh},
    {"%envreg2", Special::kGridWorkspaceLow},
    {"%total_smem_size", Special::kTotalSmem},
    {"%aggr_smem_size", Special::kAggrSmem},
    {"%cluster_ctaid.x", Special::kClusterCtaidX},
    {"%cluster_ctaid.y", Special::kClusterCtaidY},
    {"%cluster_ctaid.z", Special::kClusterCtaidZ},
    {"%cluster_nctaid.x", Special::kClusterNctaidX},
    {"%cluster_nctaid.y", Special::kClusterNctaidY},
    {"%cluster_nctaid.z", Special::kClusterNctaidZ},
    {"%clusterid.x", Special::kClusterIdX},
    {"%clusterid.y", Special::kClusterIdY},
    {"%clusterid.z", Special::kClusterIdZ},
    {"%nclusterid.x", Special::kNClusterIdX},
    {"%nclusterid.y", Special::kNClusterIdY},
    {"%nclusterid.z", Special::kNClusterIdZ},
    {"%cluster_ctarank", Special::kClusterRank},
    {"%cluster_nctarank", Special::kClusterBlocks},
    {"%is_explicit_cluster", Special::kIsCluster},
};

struct ClockName {
  const char* name;
  OpFn fn;
};
const ClockName kClocks[] = {
    {"%clock", read_clock32},
    {"%clock_lo", read_clock32},
    {"%clock_hi", read_clock_high},
    {"%clock64", read_clock64},
    {"%globaltimer", read_timer64},
    {"%globaltimer_lo", read_timer32},
    {"%globaltimer_hi", read_timer_high},
};

std::string describe(const Operand& o) {
  switch (o.kind) {
    case OperandKind::kReg:
      return "a register";
    case OperandKind::kInt:
      return "an integer constant";
    case OperandKind::kFloat32:
    case OperandKind::kFloat64:
      return "a floating-point constant";
    case OperandKind::kSpecial:
      return "special register " + o.name;
    case OperandKind::kSymbol:
      return "symbol " + o.name;
    case OperandKind::kAddress:
      return "an address";
    case OperandKind::kVector:
      return "a vector";
    case OperandKind::kPair:
      return "a pair of registers";
    case OperandKind::kSink:
      return "_";
  }
  return "an operand";
}

}  // namespace

FunctionLowering::FunctionLowering(ModuleImage& module, KernelCode& kernel, int function)
    : module_(module), kernel_(kernel), fn_(module.text().functions[static_cast<size_t>(function)]) {
  code_ = std::make_unique<Code>();
  code_->name = fn_.name;
  code_->is_entry = fn_.is_entry;
  slots_.resize(1 + fn_.regs.size());
  slots_[0].kind = VirtualSlot::Kind::kScratch;
  for (size_t i = 0; i < fn_.regs.size(); ++i) {
    const ptx::Type t = fn_.regs[i].type;
    // 8-bit registers only occur in loads, stores and conversions: a 16-bit lane holds them.
    slots_[i + 1].bytes = t.cls == ptx::TypeClass::kPred ? 0 : static_cast<uint8_t>(std::max(2, t.bytes()));
    if (t.bytes() > 8) throw NotImplemented{"128-bit register " + fn_.regs[i].name};
  }
  for (const ptx::Label& l : fn_.labels) label_[l.name] = l.instruction;
  uint64_t local = 0, param = 0;
  for (const ptx::Variable& v : fn_.variables) {
    if (v.space != Space::kLocal) continue;
    local = (local + v.align - 1) / v.align * v.align;
    local_offset_[v.name] = static_cast<uint32_t>(local);
    local += v.bytes;
  }
  if (local > (1u << 20)) throw NotImplemented{"a stack frame of " + std::to_string(local) + " bytes"};
  code_->local_bytes = static_cast<uint32_t>(local);
  if (fn_.is_entry) {
    for (const ptx::Variable& v : fn_.params) {
      param = (param + v.align - 1) / v.align * v.align;
      entry_param_[v.name] = static_cast<uint32_t>(param);
      param += v.bytes;
    }
  } else {
    for (const ptx::Variable& v : fn_.params) param_slot(v.name);
    for (const ptx::Variable& v : fn_.returns) param_slot(v.name);
  }
}

std::unique_ptr<Code> FunctionLowering::run() {
  first_op_.assign(fn_.body.size() + 1, 0);
  for (size_t i = 0; i < fn_.body.size(); ++i) {
    current_ = static_cast<int>(i);
    first_op_[i] = static_cast<int>(ops_.size());
    const ptx::Instruction& in = fn_.body[i];
    auto refuse = [&](const std::string& why, bool undefined = false) {
      ops_.resize(static_cast<size_t>(first_op_[i]));
      kernel_.unsupported.push_back(
          {undefined ? why : "'" + in.opcode + "': " + why, in.loc, in.ptx_line, undefined});
    };
    try {
      lower_instruction(in);
    } catch (const NotImplemented& e) {
      refuse(e.what);
    } catch (const NeedsArchitecture& e) {
      refuse("");
      kernel_.unsupported.back().needs = e.arch;
      kernel_.unsupported.back().what =
          "'" + in.opcode + "' needs " + e.arch + ", and this program was built for " + module_.text().target;
    } catch (const NotDefined& e) {
      refuse(demangle(e.name), true);
    } catch (const std::out_of_range&) {  // the parser does not know how many an instruction has
      refuse("an operand is missing");
    }
  }
  first_op_[fn_.body.size()] = static_cast<int>(ops_.size());
  // Falling off the end of a function is a return.
  current_ = static_cast<int>(fn_.body.size());
  guard_ = 0;
  emit_control(Control::kReturn, InstrClass::kControl);
  mark_unused_results();
  mark_constant_stores();
  build_blocks(*code_);
  assign_slots(*code_);
  post_dominators(*code_);
  for (const ptx::Variable& v : fn_.params)
    if (!fn_.is_entry) code_->params.push_back(area(v.name));
  for (const ptx::Variable& v : fn_.returns) code_->returns.push_back(area(v.name));
  return std::move(code_);
}

// An atomic whose old value nobody reads is a reduction, as ptxas will find too.
void FunctionLowering::mark_unused_results() {
  std::vector<bool> read(slots_.size(), false);
  for (const VirtualOp& v : ops_) {
    for (uint32_t s : v.uses) read[s] = true;
    read[v.op.guard] = true;
  }
  for (VirtualOp& v : ops_)
    if (v.op.cls == InstrClass::kAtomic &&
        std::none_of(v.defs.begin(), v.defs.end(), [&](uint32_t s) { return read[s]; }))
      v.op.flags |= kResultUnused;
}

// nvcc moves a constant into a register before it stores it.
void FunctionLowering::mark_constant_stores() {
  const auto is_constant = [&](uint32_t slot) { return slots_[slot].kind == VirtualSlot::Kind::kConstant; };
  std::vector<bool> varies(slots_.size(), false), moved(slots_.size(), false);
  for (const VirtualOp& v : ops_) {
    const bool moves = v.op.cls == InstrClass::kMove && std::ranges::all_of(v.uses, is_constant);
    for (uint32_t s : v.defs) (moves ? moved : varies)[s] = true;
  }
  for (VirtualOp& v : ops_) {
    const uint32_t value = v.op.src[1];
    if ((v.op.flags & kReleases) && v.list.empty() &&
        (is_constant(value) || (moved[value] && !varies[value])))
      v.op.flags |= kStoresConstant;
  }
}

// Constants and special registers are always there; only registers are worth a place in the list.
void FunctionLowering::record_values(Code& code, const VirtualOp& v) const {
  OpValues at;
  at.begin = static_cast<uint32_t>(code.values.size());
  auto keep = [&](uint32_t slot) {
    if (slot == 0 || slots_[slot].kind != VirtualSlot::Kind::kRegister) return 0;
    code.values.push_back(slot);
    return 1;
  };
  for (uint32_t slot : v.defs) at.written = static_cast<uint16_t>(at.written + keep(slot));
  for (uint32_t slot : v.uses) at.read = static_cast<uint16_t>(at.read + keep(slot));
  at.read = static_cast<uint16_t>(at.read + keep(v.op.guard));
  code.op_values.push_back(at);
}

void FunctionLowering::record_origins(Code& code, KernelCode& kernel) const {
  for (size_t i = 0; i < ops_.size(); ++i) {
    code.ops[i].index = static_cast<uint32_t>(kernel.origins.size());
    kernel.origins.push_back({ops_[i].loc, ops_[i].ptx_line, ops_[i].opcode, ops_[i].parameter});
    record_values(code, ops_[i]);
  }
  code.value_count = static_cast<uint32_t>(slots_.size());
  for (const VirtualSlot& slot : slots_) code.predicates.push_back(slot.bytes == 0);
}

// The address of a parameter in a register: loads through it read a place that is known.
void FunctionLowering::note_parameter_address(const ptx::Instruction& in) {
  if (in.operands.size() != 2 || in.operands[1].kind != OperandKind::kSymbol) return;
  const auto found = entry_param_.find(in.operands[1].name);
  if (found != entry_param_.end() && in.operands[0].kind == OperandKind::kReg)
    parameter_address_[in.operands[0].reg] = found->second + in.operands[1].value;
}

void FunctionLowering::lower_instruction(const ptx::Instruction& in) {
  guard_ = in.guard >= 0 ? reg_slot(in.guard) : 0;
  guard_negated_ = in.guard_negated;
  const std::string_view base = std::string_view(in.opcode).substr(0, in.opcode.find('.'));
  if (base == "mov") note_parameter_address(in);
  const auto it = handlers().find(base);
  if (it != handlers().end()) {
    (this->*it->second)(in);
    return;
  }
  if (!try_table(in)) throw NotImplemented{"this instruction is not implemented"};
}

const std::unordered_map<std::string_view, FunctionLowering::Handler>& FunctionLowering::handlers() {
  using F = FunctionLowering;
  static const std::unordered_map<std::string_view, Handler> table = {
      {"ld", &F::lower_load},
      {"ldu", &F::lower_load},
      {"st", &F::lower_store},
      {"atom", &F::lower_atomic},
      {"red", &F::lower_atomic},
      {"cp", &F::lower_async},
      {"mbarrier", &F::lower_mbarrier},
      {"tensormap", &F::lower_tensor_map},
      {"mapa", &F::lower_cluster_address},
      {"getctarank", &F::lower_cluster_address},
      {"wgmma", &F::lower_wgmma},
      {"setmaxnreg", &F::lower_setmaxnreg},
      {"ldmatrix", &F::lower_ldmatrix},
      {"stmatrix", &F::lower_stmatrix},
      {"wmma", &F::lower_wmma},
      {"tex", &F::lower_texture},
      {"tld4", &F::lower_texture},
      {"txq", &F::lower_texture_query},
      {"suq", &F::lower_texture_query},
      {"suld", &F::lower_surface},
      {"sust", &F::lower_surface},
      {"cvta", &F::lower_cvta},
      {"isspacep", &F::lower_isspacep},
      {"membar", &F::lower_fence},
      {"fence", &F::lower_fence},
      {"prefetch", &F::lower_ignored},
      {"prefetchu", &F::lower_ignored},
      {"applypriority", &F::lower_ignored},
      {"pmevent", &F::lower_ignored},
      {"createpolicy", &F::lower_createpolicy},
      {"griddepcontrol", &F::lower_ignored},
      {"bra", &F::lower_branch},
      {"brx", &F::lower_branch_index},
      {"call", &F::lower_call},
      {"ret", &F::lower_return},
      {"exit", &F::lower_exit},
      {"trap", &F::lower_trap},
      {"brkpt", &F::lower_trap},
      {"bar", &F::lower_barrier},
      {"barrier", &F::lower_barrier},
      {"shfl", &F::lower_warp_sync},
      {"vote", &F::lower_warp_sync},
      {"match", &F::lower_warp_sync},
      {"redux", &F::lower_warp_sync},
      {"elect", &F::lower_warp_sync},
      {"activemask", &F::lower_activemask},
      {"nanosleep", &F::lower_nanosleep},
  };
  return table;
}

int FunctionLowering::reg_bytes(const Operand& o) const {
  return slots_[reg_slot(o.reg)].bytes;
}

uint32_t FunctionLowering::constant(uint64_t value, int bytes) {
  if (bytes == 2) value &= 0xffff;
  if (bytes == 4) value &= 0xffffffffu;
  const std::string key = std::to_string(bytes) + ":" + std::to_string(value);
  return shared_slot(
      key, {.kind = VirtualSlot::Kind::kConstant, .bytes = static_cast<uint8_t>(bytes), .value = value});
}

uint32_t FunctionLowering::special(Special what, int bytes, uint64_t addend) {
  const std::string key = "s" + std::to_string(static_cast<int>(what)) + ":" + std::to_string(bytes) + ":" +
                          std::to_string(addend);
  return shared_slot(key, {.kind = VirtualSlot::Kind::kSpecial,
                           .bytes = static_cast<uint8_t>(bytes),
                           .value = addend,
                           .special = what});
}

uint32_t FunctionLowering::shared_slot(const std::string& key, const VirtualSlot& slot) {
  const auto [it, fresh] = constants_.try_emplace(key, static_cast<uint32_t>(slots_.size()));
  if (fresh) slots_.push_back(slot);
  return it->second;
}

uint32_t FunctionLowering::temporary(int bytes) {
  VirtualSlot s;
  s.kind = VirtualSlot::Kind::kRegister;
  s.bytes = static_cast<uint8_t>(bytes);
  slots_.push_back(s);
  return static_cast<uint32_t>(slots_.size() - 1);
}

uint64_t FunctionLowering::symbol_address(const std::string& name, Space* space, bool* local) const {
  *local = false;
  if (auto it = local_offset_.find(name); it != local_offset_.end()) {
    *space = Space::kLocal;
    *local = true;
    return it->second;
  }
  if (auto it = entry_param_.find(name); it != entry_param_.end()) {
    *space = Space::kParam;
    return it->second;
  }
  if (auto it = kernel_.shared_offset.find(name); it != kernel_.shared_offset.end()) {
    *space = Space::kShared;
    return it->second;
  }
  LoadedModule::Symbol s;
  if (module_.symbol(name, &s)) {
    *space = Space::kGlobal;
    return s.address;
  }
  const int function = module_.function_index(name);
  if (function >= 0) {
    *space = Space::kGeneric;
    return kFunctionBase + 16ull * static_cast<uint64_t>(function);
  }
  throw NotDefined{std::string(name)};
}

uint32_t FunctionLowering::source(const Operand& o, int bytes, char type_class) {
  switch (o.kind) {
    case OperandKind::kReg: {
      if (o.negated) throw NotImplemented{"a negated operand that is no predicate"};
      const int have = reg_bytes(o);
      if (have != bytes)
        throw NotImplemented{"register " + fn_.regs[static_cast<size_t>(o.reg)].name + " is " +
                             std::to_string(have * 8) + " bits wide where " + std::to_string(bytes * 8) +
                             " are expected"};
      return reg_slot(o.reg);
    }
    case OperandKind::kInt:
      return constant(o.value, bytes);
    case OperandKind::kFloat32:
      if (bytes == 8 && type_class == 'f') {
        float f;
        const uint32_t bits = static_cast<uint32_t>(o.value);
        std::memcpy(&f, &bits, 4);
        const double d = f;
        uint64_t wide;
        std::memcpy(&wide, &d, 8);
        return constant(wide, 8);
      }
      return constant(o.value, bytes);
    case OperandKind::kFloat64: {
      if (bytes == 8) return constant(o.value, 8);
      if (bytes == 4) {
        double d;
        std::memcpy(&d, &o.value, 8);
        const float f = static_cast<float>(d);
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        return constant(bits, 4);
      }
      break;
    }
    case OperandKind::kSpecial: {
      if (o.name == "WARP_SZ") return constant(32, bytes);
      for (const SpecialName& s : kSpecials)
        if (o.name == s.name) return special(s.what, bytes);
      for (const ClockName& c : kClocks)
        if (o.name == c.name) {
          const uint32_t t = temporary(bytes);
          VirtualOp& v = emit(c.fn, c.fn, InstrClass::kOther);
          v.op.dst = t;
          v.defs.push_back(t);
          return t;
        }
      throw NotImplemented{"special register " + o.name};
    }
    case OperandKind::kSymbol: {
      Space space;
      bool local;
      const uint64_t a = symbol_address(o.name, &space, &local) + o.value;
      if (local) return special(bytes == 8 ? Special::kLocalBase : Special::kLocalBase32, bytes, a);
      return constant(a, bytes);
    }
    default:
      break;
  }
  throw NotImplemented{describe(o) + " as a source operand"};
}

uint32_t FunctionLowering::source_any(const Operand& o, int bytes) {
  if (o.kind == OperandKind::kReg && !o.negated && reg_bytes(o) >= std::max(2, bytes) && reg_bytes(o) != 0)
    return reg_slot(o.reg);
  return source(o, std::max(2, bytes));
}

uint32_t FunctionLowering::predicate_source(const Operand& o) {
  if (o.kind == OperandKind::kInt) {
    const std::string key = "p" + std::to_string(o.value != 0);
    auto [it, fresh] = constants_.try_emplace(key, static_cast<uint32_t>(slots_.size()));
    if (fresh) {
      VirtualSlot s;
      s.kind = VirtualSlot::Kind::kConstant;
      s.bytes = 0;
      s.value = o.value ? kAllLanes : 0;
      slots_.push_back(s);
    }
    return it->second;
  }
  if (o.kind != OperandKind::kReg || reg_bytes(o) != 0)
    throw NotImplemented{describe(o) + " where a predicate is expected"};
  if (!o.negated) return reg_slot(o.reg);
  const uint32_t t = temporary(0);
  VirtualOp& v = emit(not_predicate, not_predicate, InstrClass::kInteger);
  v.op.dst = t;
  v.op.src[0] = reg_slot(o.reg);
  v.defs.push_back(t);
  v.uses.push_back(reg_slot(o.reg));
  return t;
}

uint32_t FunctionLowering::destination(const Operand& o, int bytes) {
  if (o.kind == OperandKind::kSink) return 0;
  if (o.kind != OperandKind::kReg) throw NotImplemented{describe(o) + " as a destination"};
  if (reg_bytes(o) != bytes)
    throw NotImplemented{"destination " + fn_.regs[static_cast<size_t>(o.reg)].name + " is " +
                         std::to_string(reg_bytes(o) * 8) + " bits wide where " + std::to_string(bytes * 8) +
                         " are expected"};
  return reg_slot(o.reg);
}

uint64_t FunctionLowering::immediate(const Operand& o) const {
  if (o.kind != OperandKind::kInt) throw NotImplemented{describe(o) + " where a constant is expected"};
  return o.value;
}

VirtualOp& FunctionLowering::emit(OpFn fn, VirtualOp&& operands) {
  VirtualOp& made = emit(fn, fn, InstrClass::kOther);
  made.list = std::move(operands.list);
  made.uses = std::move(operands.uses);
  return made;
}

VirtualOp& FunctionLowering::emit(OpFn masked, OpFn full, InstrClass cls) {
  const ptx::Instruction* in =
      static_cast<size_t>(current_) < fn_.body.size() ? &fn_.body[static_cast<size_t>(current_)] : nullptr;
  VirtualOp v;
  v.op.fn[0] = masked;
  v.op.fn[1] = full;
  v.op.cls = cls;
  v.op.guard = guard_;
  v.op.guard_negated = guard_negated_;
  v.loc = in ? in->loc : 0;
  v.ptx_line = in ? in->ptx_line : 0;
  v.opcode = in ? std::string_view(in->opcode) : std::string_view("ret");
  v.instruction = current_;
  ops_.push_back(std::move(v));
  return ops_.back();
}

VirtualOp& FunctionLowering::emit_control(Control control, InstrClass cls) {
  VirtualOp& v = emit(nullptr, nullptr, cls);
  v.op.control = static_cast<uint8_t>(control);
  return v;
}

// Puts an address operand into `v`, as src[0], and returns its constant offset.
uint64_t FunctionLowering::address(const Operand& o, VirtualOp& v, Space space) {
  if (o.kind != OperandKind::kAddress) throw NotImplemented{describe(o) + " where an address is expected"};
  if (o.reg >= 0) {
    const int bytes = reg_bytes(o);
    if (bytes != 4 && bytes != 8)
      throw NotImplemented{"an address in a register of other than 32 or 64 bits"};
    v.op.src[0] = reg_slot(o.reg);
    if (bytes == 8) v.op.flags |= kAddress64;
    v.uses.push_back(reg_slot(o.reg));
    return o.value;
  }
  v.op.flags |= kAddress64;
  if (o.name.empty()) {
    v.op.src[0] = constant(0, 8);
    return o.value;
  }
  Space found;
  bool local;
  const uint64_t a = symbol_address(o.name, &found, &local);
  if (space != Space::kGeneric && found != space && !(space == Space::kConst && found == Space::kGlobal))
    throw NotImplemented{"symbol " + o.name + " lies in another state space"};
  v.op.src[0] = local ? special(Special::kLocalBase, 8, a) : constant(a, 8);
  return o.value;
}

std::vector<std::string_view> split_opcode(std::string_view opcode) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  while (begin <= opcode.size()) {
    size_t end = opcode.find('.', begin);
    if (end == std::string_view::npos) end = opcode.size();
    parts.push_back(opcode.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool parse_type(std::string_view token, ptx::Type* type) {
  if (token.size() < 2) return false;
  static const std::unordered_map<std::string_view, ptx::Type> table = {
      {"b8", {ptx::TypeClass::kBits, 8}},       {"b16", {ptx::TypeClass::kBits, 16}},
      {"b32", {ptx::TypeClass::kBits, 32}},     {"b64", {ptx::TypeClass::kBits, 64}},
      {"u8", {ptx::TypeClass::kUnsigned, 8}},   {"u16", {ptx::TypeClass::kUnsigned, 16}},
      {"u32", {ptx::TypeClass::kUnsigned, 32}}, {"u64", {ptx::TypeClass::kUnsigned, 64}},
      {"s8", {ptx::TypeClass::kSigned, 8}},     {"s16", {ptx::TypeClass::kSigned, 16}},
      {"s32", {ptx::TypeClass::kSigned, 32}},   {"s64", {ptx::TypeClass::kSigned, 64}},
      {"f16", {ptx::TypeClass::kFloat, 16}},    {"bf16", {ptx::TypeClass::kFloat, 16}},
      {"f32", {ptx::TypeClass::kFloat, 32}},    {"f64", {ptx::TypeClass::kFloat, 64}},
      {"f16x2", {ptx::TypeClass::kFloat, 32}},  {"bf16x2", {ptx::TypeClass::kFloat, 32}},
      {"pred", {ptx::TypeClass::kPred, 1}},
  };
  const auto it = table.find(token);
  if (it == table.end()) return false;
  *type = it->second;
  return true;
}

std::string canonical_opcode(std::string_view opcode) {
  std::vector<std::string_view> parts = split_opcode(opcode), modifiers, types;
  for (size_t i = 1; i < parts.size(); ++i) {
    ptx::Type type;
    (parse_type(parts[i], &type) ? types : modifiers).push_back(parts[i]);
  }
  std::sort(modifiers.begin(), modifiers.end());
  std::string out(parts[0]);
  for (const auto* group : {&modifiers, &types})
    for (std::string_view part : *group) out.append(".").append(part);
  return out;
}

}  // namespace vgpu
