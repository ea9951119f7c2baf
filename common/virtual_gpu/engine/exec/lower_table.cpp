// Lowering of instructions that have a row in an opcode table: operands follow the row's signature.
#include <algorithm>
#include <sstream>

#include "exec/lowering.h"
#include "exec/memory_ops.h"
#include "ops/matrix.h"
#include "ops/tables.h"

namespace vgpu {

using ptx::Operand;
using ptx::OperandKind;

namespace {

// A name may have several rows (the packing forms of mov): they differ in the shape of their operands.
const std::unordered_map<std::string_view, std::vector<const OpForm*>>& forms() {
  static const std::unordered_map<std::string_view, std::vector<const OpForm*>> table = [] {
    std::unordered_map<std::string_view, std::vector<const OpForm*>> t;
    for (auto rows : {integer_forms(), float_forms(), half_forms(), convert_forms(), compare_forms(),
                      bit_forms(), move_forms(), special_function_forms(), matrix_forms()})
      for (const OpForm& f : rows) t[f.name].push_back(&f);
    return t;
  }();
  return table;
}

// Rows by canonical spelling; tensor-core names, whose modifiers are positional, stay out.
const std::unordered_map<std::string, std::string_view>& respelled() {
  static const std::unordered_map<std::string, std::string_view> table = [] {
    std::unordered_map<std::string, std::string_view> t;
    for (const auto& [name, rows] : forms())
      if (rows.front()->cls != InstrClass::kMatrix && name.find('#') == std::string_view::npos)
        t.emplace(canonical_opcode(name), name);
    return t;
  }();
  return table;
}

struct Width {
  int bytes = 0;  // of the register that holds a value: 8-bit ones sit in 16 bits
  int count = 0;  // of a vector, 0 for a scalar
  bool loose = false;
};

Width parse_width(std::string_view token) {
  Width w;
  if (token.back() == '~') {
    w.loose = true;
    token.remove_suffix(1);
  }
  const size_t x = token.find('x');
  w.bytes = std::max(2, std::stoi(std::string(token.substr(0, x))) / 8);
  if (x != std::string_view::npos) w.count = std::stoi(std::string(token.substr(x + 1)));
  return w;
}

bool is_width(std::string_view token) {
  return token[0] >= '0' && token[0] <= '9';
}

}  // namespace

const OpForm* find_form(std::string_view name) {
  const auto it = forms().find(name);
  return it == forms().end() ? nullptr : it->second.front();
}

// Whether the operands have the shapes and register widths of the row.
bool FunctionLowering::fits(const ptx::Instruction& in, const OpForm& form) const {
  std::istringstream tokens(form.signature);
  std::string token;
  size_t at = 0;
  while (tokens >> token) {
    if (token[0] == '>') token.erase(0, 1);
    if (token.back() == 'c') continue;  // the carry is no operand
    if (at >= in.operands.size()) return false;
    const Operand& o = in.operands[at++];
    if (!is_width(token)) continue;
    const Width w = parse_width(token);
    if (w.count > 1 && (o.kind != OperandKind::kVector || static_cast<int>(o.items.size()) != w.count))
      return false;
    if (w.count == 0 && o.kind == OperandKind::kVector) return false;
    if (w.count == 0 && !w.loose && o.kind == OperandKind::kReg && reg_bytes(o) != w.bytes) return false;
  }
  return at == in.operands.size();
}

bool FunctionLowering::try_table(const ptx::Instruction& in) {
  auto rows = forms().find(in.opcode);
  if (rows == forms().end())
    if (const auto other = respelled().find(canonical_opcode(in.opcode)); other != respelled().end())
      rows = forms().find(other->second);
  if (rows != forms().end())
    for (const OpForm* form : rows->second)
      if (fits(in, *form)) {
        lower_form(in, *form);
        return true;
      }
  if (in.operands.size() >= 2) {
    // Forms whose registers may be wider than the type are listed by the widths of the registers.
    auto width = [&](const Operand& o, int fallback) {
      return o.kind == OperandKind::kReg ? reg_bytes(o) * 8 : fallback;
    };
    const int d = width(in.operands[0], 32);
    const int s = width(in.operands[1], d);
    const OpForm* form = find_form(in.opcode + "#" + std::to_string(d) + "." + std::to_string(s));
    if (form != nullptr) {
      lower_form(in, *form);
      return true;
    }
  }
  if (rows == forms().end()) return false;
  lower_form(in, *rows->second.front());  // says what does not fit
  return true;
}

void FunctionLowering::lower_form(const ptx::Instruction& in, const OpForm& form) {
  // Sources may emit helper ops (a negated predicate), so the op itself is emitted last.
  Op op;
  op.table.imm = form.imm;
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
    if (token[0] == '>') {
      token.erase(0, 1);
      first = false;
    }
    if (token == "#") {
      op.table.imm |= immediate(next()) << (8 * constants++);
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
    const Width width = parse_width(token);
    const int bytes = width.bytes, count = width.count;
    const bool loose = width.loose;
    const Operand& o = next();
    if (count > 0) {
      // A vector of one may be written as a plain register.
      const std::vector<Operand> single{o};
      const std::vector<Operand>& items = o.kind == OperandKind::kVector ? o.items : single;
      if (static_cast<int>(items.size()) != count)
        throw NotImplemented{"a vector of " + std::to_string(items.size()) + " where " +
                             std::to_string(count) + " are expected"};
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
  if (form.cls == InstrClass::kMatrix) {
    op.fn[0] = matrix_on_partial_warp;
    // The tensor cores' own step is 16x8x16: a wmma of 16x16x16 takes two.
    if (in.opcode.starts_with("wmma.mma")) op.table.issues = 2;
  }
  v.op = op;
  v.list = std::move(list);
  v.defs = std::move(defs);
  v.uses = std::move(uses);
}

}  // namespace vgpu
