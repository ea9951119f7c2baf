// call.uni (retval0), callee, (param0, param1), prototype;
#include "function_body.h"

namespace vgpu::ptx {
namespace {

using Found = NameScopes::Found;

std::string count_of(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_variadic(const std::vector<Variable>& params) {
  return !params.empty() && params.back().bytes == 0;
}

}  // namespace

void FunctionBody::parse_call(Instruction& instruction) {
  const int line = tokens_.line();
  instruction.call = static_cast<int>(function_.calls.size());
  Call call;
  if (tokens_.peek().is('(')) {
    call.returns = parse_call_parameters();
    tokens_.expect(',', "between the return value and the function called");
  }
  const Function* callee = parse_callee(instruction);
  if (tokens_.peek().is(',') && tokens_.peek_second().is('(')) {
    tokens_.take();
    call.arguments = parse_call_parameters();
  }
  if (tokens_.accept(',')) {
    const Token prototype = tokens_.expect_word("the label of a .callprototype");
    call.prototype = prototype.text;
    labels_.use_in_call(prototype.text, prototype.line, instruction.call);
  }
  check_call(call, callee, line);
  function_.calls.push_back(std::move(call));
}

// Null for an indirect call.
const Function* FunctionBody::parse_callee(Instruction& instruction) {
  const Token name = tokens_.expect_word("the function to call");
  Operand operand;
  const Found found = names_.find(name.text);
  const ModuleSymbol* symbol = find_symbol(symbols_, name.text);
  const Function* callee = nullptr;
  if (found.kind == Found::Kind::kRegister) {
    operand.kind = OperandKind::kReg;
    operand.reg = found.reg;
  } else if (found.kind == Found::Kind::kNothing && symbol != nullptr &&
             symbol->kind == SymbolKind::kFunction) {
    operand.kind = OperandKind::kSymbol;
    operand.name = name.text;
    callee = &module_.functions[symbol->index];
  } else {
    throw ParseError(name.line,
                     "expected a function declared above this call, or a register that holds its "
                     "address, found " +
                         in_quotes(name.text));
  }
  instruction.operands.push_back(std::move(operand));
  return callee;
}

std::vector<std::string> FunctionBody::parse_call_parameters() {
  std::vector<std::string> parameters;
  tokens_.expect('(', "before the parameters of a call");
  if (tokens_.accept(')')) return parameters;
  do {
    if (tokens_.peek().kind != TokenKind::kWord) tokens_.fail_expected("the name of a .param variable");
    const Token name = tokens_.take();
    const Found found = names_.find(name.text);
    if (found.kind == Found::Kind::kRegister) {
      throw ParseError(name.line, "register " + in_quotes(name.text) +
                                      " as a call parameter is not supported: pass a .param variable");
    }
    if (found.kind != Found::Kind::kVariable || found.space != Space::kParam) {
      throw ParseError(name.line, "expected a .param variable, found " + in_quotes(name.text));
    }
    parameters.push_back(*found.variable);
  } while (tokens_.accept(','));
  tokens_.expect(')', "after the parameters of a call");
  return parameters;
}

void FunctionBody::check_call(const Call& call, const Function* callee, int line) const {
  if (callee == nullptr) {
    if (call.prototype.empty()) {
      throw ParseError(line, "expected the label of a .callprototype at the end of an indirect call");
    }
    return;
  }
  if (call.arguments.size() != callee->params.size() && !is_variadic(callee->params)) {
    throw ParseError(line, in_quotes(callee->name) + " takes " +
                               count_of(callee->params.size(), "parameter") + ", but the call passes " +
                               std::to_string(call.arguments.size()));
  }
  if (call.returns.size() != callee->returns.size()) {
    throw ParseError(line, in_quotes(callee->name) + " returns " + count_of(callee->returns.size(), "value") +
                               ", but the call takes " + std::to_string(call.returns.size()));
  }
}

}  // namespace vgpu::ptx
