// Lowering of instructions that have a row in an opcode table: operands follow the row's signature.
#include <sstream>

#include "exec/lowering.h"
#include "ops/matrix.h"
#include "ops/tables.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;

const OpForm* find_form(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpForm*> table = [] {
    std::unordered_map<std::string_view, const OpForm*> t;
    for (auto forms : {integer_forms(), float_forms(), half_forms(), convert_forms(), compare_forms(),
                       bit_forms(), move_forms(), special_function_forms(), matrix_forms()})
      for (const OpForm& f : forms) t.emplace(f.name, &f);
    return t;
  }();
  const auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

bool FunctionLowering::try_table(const ptx::Instruction& in) {
  const OpForm* form = find_form(in.opcode);
  if (form == nullptr && in.operands.size() >= 2) {
    // Forms whose registers may be wider than the type are listed by the widths of the registers.
    auto width = [&](const Operand& o, int fallback) {
      return o.kind == OperandKind::kReg ? reg_bytes(o) * 8 : fallback;
    };
    const int d = width(in.operands[0], 32);
    const int s = width(in.operands[1], d);
    form = find_form(in.opcode + "#" + std::to_string(d) + "." + std::to_string(s));
  }
  if (form == nullptr) return false;
  lower_form(in, *form);
  return true;
}

void FunctionLowering::lower_form(const ptx::Instruction& in, const OpForm& form) {
  // Sources may emit helper ops (a negated predicate), so the op itself is emitted last.
  Op op;
  std::vector<uint32_t> list, defs, uses;
  bool wide = std::string_view(form.signature).find('x') != std::string_view::npos;
  std::istringstream tokens(form.signature);
  std::string token;
  size_t at = 0, source_at = 0;
  bool first = true;
  int constants = 0;
  const char type_class = in.opcode.find(".f64") != std::string::npos ? 'f' : 'b';
  auto next = [&]() -> const Operand& {
    if (at >= in.operands.size()) throw NotImplemented{"too few operands"};
    return in.operands[at++];
  };
  auto add_source = [&](uint32_t slot) {
    uses.push_back(slot);
    if (wide)
      list.push_back(slot);
    else if (source_at < 4)
      op.src[source_at++] = slot;
    else
      throw NotImplemented{"too many operands"};
  };
  auto add_destination = [&](uint32_t slot) {
    defs.push_back(slot);
    if (wide)
      list.push_back(slot);
    else
      op.dst = slot;
  };
  while (tokens >> token) {
    bool has_destination = true;
    if (token[0] == '>') {
      has_destination = false;
      token.erase(0, 1);
      first = false;
    }
    (void)has_destination;
    if (token == "#") {
      op.imm |= immediate(next()) << (8 * constants++);
      continue;
    }
    if (token == "+c" || token == "-c" || token == "*c") {
      if (carry_ == 0) carry_ = temporary(0);
      if (token != "+c") {
        op.src[3] = carry_;
        uses.push_back(carry_);
      }
      if (token != "-c") {
        op.dst2 = carry_;
        defs.push_back(carry_);
      }
      continue;
    }
    if (token == "p|p") {
      const Operand& o = next();
      if (o.kind == OperandKind::kPair) {
        if (o.items.size() != 2) throw NotImplemented{"a pair of other than two registers"};
        op.dst = destination(o.items[0], 0);
        op.dst2 = destination(o.items[1], 0);
        defs.push_back(op.dst2);
      } else {
        op.dst = destination(o, 0);
      }
      defs.push_back(op.dst);
      first = false;
      continue;
    }
    if (token == "p") {
      if (first)
        add_destination(destination(next(), 0));
      else
        add_source(predicate_source(next()));
      first = false;
      continue;
    }
    const bool loose = token.back() == '~';
    if (loose) token.pop_back();
    const size_t x = token.find('x');
    const int bytes = std::stoi(token) / 8;
    const int count = x == std::string::npos ? 0 : std::stoi(token.substr(x + 1));
    const Operand& o = next();
    if (count > 0) {
      // A vector of one may be written as a plain register.
      const std::vector<Operand> single{o};
      const std::vector<Operand>& items = o.kind == OperandKind::kVector ? o.items : single;
      if (static_cast<int>(items.size()) != count)
        throw NotImplemented{"a vector of " + std::to_string(items.size()) + " where " + std::to_string(count) +
                             " are expected"};
      for (const Operand& item : items)
        if (first)
          add_destination(destination(item, bytes));
        else
          add_source(source(item, bytes, type_class));
    } else if (first) {
      add_destination(loose && o.kind == OperandKind::kReg ? reg_slot(o.reg) : destination(o, bytes));
    } else {
      add_source(loose ? source_any(o, bytes) : source(o, bytes, type_class));
    }
    first = false;
  }
  if (at != in.operands.size()) throw NotImplemented{"more operands than this form takes"};
  VirtualOp& v = emit(form.masked, form.full, form.cls);
  op.fn[0] = v.op.fn[0];
  op.fn[1] = v.op.fn[1];
  op.cls = v.op.cls;
  op.guard = v.op.guard;
  op.guard_negated = v.op.guard_negated;
  v.op = op;
  v.list = std::move(list);
  v.defs = std::move(defs);
  v.uses = std::move(uses);
}

}  // namespace vgpu
