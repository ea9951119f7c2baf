#include "function_body.h"

#include "declarations.h"

namespace vgpu::ptx {
namespace {

constexpr int kMaxScopes = 200;  // of nested { }

// The part of an opcode before its first dot.
std::string_view base_opcode(std::string_view opcode) {
  return opcode.substr(0, opcode.find('.'));
}

}  // namespace

FunctionBody::FunctionBody(TokenStream& tokens, const Module& module, const ModuleSymbols& symbols,
                           SourceLocations& locations, Function& function)
    : tokens_(tokens),
      module_(module),
      symbols_(symbols),
      locations_(locations),
      function_(function),
      names_(function, symbols),
      labels_(function),
      operands_(tokens, names_, symbols, function) {
  for (const std::vector<Variable>* list : {&function_.returns, &function_.params}) {
    for (const Variable& parameter : *list)
      names_.declare_parameter(parameter.name, Space::kParam, function_.ptx_line);
  }
}

void FunctionBody::parse() {
  locations_.begin_function();
  tokens_.expect('{', "before the body of a function");
  // Scopes are counted, not recursed into, so that deep nesting cannot exhaust the stack.
  while (true) {
    if (tokens_.at_end()) {
      tokens_.fail_expected("'}' to close function " + in_quotes(function_.name));
    } else if (tokens_.accept('{')) {
      if (names_.depth() == kMaxScopes) {
        throw ParseError(tokens_.line(), "scopes nested more than " + std::to_string(kMaxScopes) + " deep");
      }
      names_.open();
      labels_.open();
    } else if (tokens_.accept('}')) {
      if (names_.depth() == 0) break;
      names_.close();
      labels_.close();
    } else {
      parse_statement();
    }
  }
  labels_.finish();
}

void FunctionBody::parse_statement() {
  const Token& token = tokens_.peek();
  if (token.kind == TokenKind::kDirective) {
    parse_directive();
  } else if (token.kind == TokenKind::kWord && tokens_.peek_second().is(':')) {
    parse_label();
  } else if (token.kind == TokenKind::kWord || token.is('@')) {
    parse_instruction();
  } else {
    tokens_.fail_expected("an instruction, a label, a declaration or '}'");
  }
}

void FunctionBody::parse_directive() {
  const Token& directive = tokens_.peek();
  if (directive.text == ".loc") return parse_location();
  if (directive.text == ".reg") return parse_registers();
  if (directive.text == ".file") return locations_.parse_file(tokens_);
  if (directive.text == ".pragma") {
    tokens_.take();
    tokens_.expect_string("the text of the pragma in quotes");
    return tokens_.expect(';', "after .pragma");
  }
  const Space* space = find_space(directive.text);
  if (space == nullptr) {
    throw ParseError(directive.line,
                     "directive " + in_quotes(directive.text) +
                         " is not supported inside a function; expected .reg, .local, .shared, "
                         ".param, .loc or .pragma");
  }
  if (*space == Space::kGlobal || *space == Space::kConst) {
    throw ParseError(directive.line,
                     in_quotes(directive.text) +
                         " variables inside a function are not supported: declare them at module "
                         "scope");
  }
  parse_variables(*space);
}

void FunctionBody::parse_location() {
  loc_ = locations_.parse_loc(tokens_);
  if (function_.loc == 0) function_.loc = loc_;
}

void FunctionBody::parse_registers() {
  tokens_.take();
  const Token type_name = tokens_.expect_directive("a register type such as .b32");
  const Type* type = find_type(type_name.text);
  if (type == nullptr) {
    throw ParseError(type_name.line,
                     "registers of type " + in_quotes(type_name.text) +
                         " are not supported; vectors are written as { } of scalar registers");
  }
  do {
    const Token name = tokens_.expect_name("the name of a register");
    if (tokens_.accept('<')) {
      const uint64_t count = tokens_.expect_count(UINT64_MAX, "the number of registers");
      tokens_.expect('>', "after the number of registers");
      names_.declare_register_range(name.text, count, *type, name.line);
    } else {
      names_.declare_register(name.text, *type, name.line);
    }
  } while (tokens_.accept(','));
  tokens_.expect(';', "after the registers");
}

void FunctionBody::parse_variables(Space space) {
  tokens_.take();
  const DeclarationHead head = parse_declaration_head(tokens_, space);
  do {
    const Declarator declarator = parse_declarator(tokens_, head);
    Variable variable = make_variable(head, declarator);
    if (tokens_.peek().is('=')) {
      throw ParseError(tokens_.line(), "a variable inside a function cannot have an initial value");
    }
    if (variable.bytes == 0) {
      throw ParseError(declarator.line,
                       "array " + in_quotes(declarator.name) + " inside a function needs a size");
    }
    variable.name = names_.declare_variable(declarator.name, space, declarator.line);
    function_.variables.push_back(std::move(variable));
  } while (tokens_.accept(','));
  tokens_.expect(';', "after the variables");
}

void FunctionBody::parse_instruction() {
  Instruction instruction;
  instruction.loc = loc_;
  instruction.ptx_line = tokens_.line();
  if (tokens_.accept('@')) {
    instruction.guard_negated = tokens_.accept('!');
    instruction.guard = operands_.parse_predicate();
  }
  instruction.opcode = tokens_.expect_word("an opcode").text;
  while (tokens_.peek().kind == TokenKind::kDirective)
    instruction.opcode += tokens_.take().text;  // `ld .global`

  if (base_opcode(instruction.opcode) == "call") {
    parse_call(instruction);
  } else if (!tokens_.peek().is(';')) {
    parse_operands(instruction);
  }
  tokens_.expect(';', "after the operands");
  function_.body.push_back(std::move(instruction));
}

void FunctionBody::parse_operands(Instruction& instruction) {
  const std::string_view base = base_opcode(instruction.opcode);
  instruction.operands.reserve(4);
  do {
    const size_t position = instruction.operands.size();
    if (base == "bra" && position == 0) {
      parse_label_operand(instruction, LabelKind::kInstruction);
    } else if (base == "brx" && position == 1) {
      parse_label_operand(instruction, LabelKind::kBranchTargets);
    } else {
      instruction.operands.push_back(operands_.parse());
    }
  } while (tokens_.accept(','));
}

void FunctionBody::parse_label_operand(Instruction& instruction, LabelKind kind) {
  const Token name = tokens_.expect_word("a label");
  Operand operand;
  operand.kind = OperandKind::kSymbol;
  operand.name = name.text;
  labels_.use_in_operand(name.text, kind, name.line, static_cast<int>(function_.body.size()),
                         static_cast<int>(instruction.operands.size()));
  instruction.operands.push_back(std::move(operand));
}

}  // namespace vgpu::ptx
