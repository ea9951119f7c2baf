#include "operands.h"

#include "constants.h"
#include "special_registers.h"

namespace vgpu::ptx {
namespace {

using Found = NameScopes::Found;

[[noreturn]] void fail_unknown_name(const Token& word) {
  throw ParseError(word.line, in_quotes(word.text) + " is no register, variable or function declared here");
}

}  // namespace

Operand OperandParser::parse() {
  const Token& token = tokens_.peek();
  if (token.is('{')) return parse_vector();
  if (token.is('[')) return parse_address();
  Operand operand = parse_element();
  if (!tokens_.accept('|')) return operand;

  Operand pair;
  pair.kind = OperandKind::kPair;
  pair.items.push_back(std::move(operand));
  pair.items.push_back(parse_element());
  for (const Operand& item : pair.items) {
    if (item.negated || (item.kind != OperandKind::kReg && item.kind != OperandKind::kSink)) {
      throw ParseError(tokens_.line(), "expected registers (or _) on both sides of '|'");
    }
  }
  return pair;
}

Operand OperandParser::parse_element() {
  const Token& token = tokens_.peek();
  if (token.is('!')) return parse_negated();
  if (starts_constant(tokens_)) return parse_immediate();
  if (token.kind == TokenKind::kWord) return parse_word();
  tokens_.fail_expected("an operand");
}

Operand OperandParser::parse_vector() {
  Operand vector;
  vector.kind = OperandKind::kVector;
  tokens_.take();
  do {
    vector.items.push_back(parse_element());
  } while (tokens_.accept(','));
  tokens_.expect('}', "after the elements of a vector");
  return vector;
}

Operand OperandParser::parse_negated() {
  tokens_.take();
  Operand operand;
  operand.kind = OperandKind::kReg;
  operand.negated = true;
  operand.reg = parse_predicate();
  return operand;
}

Operand OperandParser::parse_immediate() {
  const Constant constant = parse_constant(tokens_);
  Operand operand;
  operand.value = constant.value;
  switch (constant.kind) {
    case Constant::Kind::kInt:
      operand.kind = OperandKind::kInt;
      break;
    case Constant::Kind::kFloat32:
      operand.kind = OperandKind::kFloat32;
      break;
    case Constant::Kind::kFloat64:
      operand.kind = OperandKind::kFloat64;
      break;
  }
  return operand;
}

Operand OperandParser::parse_word() {
  const Token word = tokens_.take();
  Operand operand;
  if (word.text == "_") return operand;  // the sink

  const Found found = names_.find(word.text);
  if (found.kind == Found::Kind::kRegister) {
    operand.kind = OperandKind::kReg;
    operand.reg = found.reg;
    return operand;
  }
  if (found.kind == Found::Kind::kVariable) {
    operand.name = *found.variable;
  } else if (find_symbol(symbols_, word.text) != nullptr) {
    operand.name = word.text;
  } else if (is_special_register(word.text)) {
    operand.kind = OperandKind::kSpecial;
    operand.name = word.text;
    return operand;
  } else {
    fail_unknown_name(word);
  }
  operand.kind = OperandKind::kSymbol;
  if (tokens_.peek().is('+') || tokens_.peek().is('-')) {
    operand.value = parse_integer_constant(tokens_, "the offset of a symbol");
  }
  return operand;
}

Operand OperandParser::parse_address() {
  tokens_.take();
  Operand address;
  address.kind = OperandKind::kAddress;
  if (tokens_.peek().kind == TokenKind::kWord) {
    const Token base = tokens_.take();
    const Found found = names_.find(base.text);
    if (found.kind == Found::Kind::kRegister) {
      address.reg = found.reg;
    } else if (found.kind == Found::Kind::kVariable) {
      address.name = *found.variable;
    } else if (find_symbol(symbols_, base.text) != nullptr) {
      address.name = base.text;
    } else {
      fail_unknown_name(base);
    }
    parse_address_offset(address);
  } else if (starts_constant(tokens_)) {
    address.value = parse_integer_constant(tokens_, "an address");
  } else {
    tokens_.fail_expected("a register, a variable or a number inside [ ]");
  }
  while (tokens_.accept(',')) {
    address.items.push_back(tokens_.peek().is('{') ? parse_vector() : parse_element());
  }
  tokens_.expect(']', "after an address");
  return address;
}

void OperandParser::parse_address_offset(Operand& address) {
  if (!tokens_.peek().is('+') && !tokens_.peek().is('-')) return;
  const Token& offset = tokens_.peek_second();
  if (offset.kind == TokenKind::kWord && offset.text != "WARP_SZ") {
    throw ParseError(offset.line,
                     "an address is a base and a constant offset; a second register or symbol (" +
                         in_quotes(offset.text) + ") is not supported");
  }
  address.value = parse_integer_constant(tokens_, "the offset of an address");
}

int OperandParser::parse_predicate() {
  const Token word = tokens_.expect_word("a predicate register");
  const Found found = names_.find(word.text);
  if (found.kind != Found::Kind::kRegister || function_.regs[found.reg].type.cls != TypeClass::kPred) {
    throw ParseError(word.line, "expected a predicate register, found " + in_quotes(word.text));
  }
  return found.reg;
}

}  // namespace vgpu::ptx
