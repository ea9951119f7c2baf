// The statements between the braces of a function.
#pragma once

#include <string_view>

#include "ast.h"
#include "label_scopes.h"
#include "module_symbols.h"
#include "name_scopes.h"
#include "operands.h"
#include "source_locations.h"
#include "token_stream.h"

namespace vgpu::ptx {

class FunctionBody {
 public:
  // `function` is an element of `module.functions`, its parameters already known.
  FunctionBody(TokenStream& tokens, const Module& module, const ModuleSymbols& symbols,
               SourceLocations& locations, Function& function);

  // From '{' to the matching '}'.
  void parse();

 private:
  // Statements (function_body.cpp)
  void parse_statement();
  void parse_directive();
  void parse_registers();
  void parse_variables(Space space);
  void parse_location();
  void parse_instruction();
  void parse_operands(Instruction& instruction);
  void parse_label_operand(Instruction& instruction, LabelKind kind);

  // What a name and a colon can introduce (labels.cpp)
  void parse_label();
  void parse_branch_targets(const Token& name);
  void parse_call_prototype(const Token& name);

  // Calls (calls.cpp)
  void parse_call(Instruction& instruction);
  const Function* parse_callee(Instruction& instruction);
  std::vector<std::string> parse_call_parameters();
  void check_call(const Call& call, const Function* callee, int line) const;

  TokenStream& tokens_;
  const Module& module_;
  const ModuleSymbols& symbols_;
  SourceLocations& locations_;
  Function& function_;
  NameScopes names_;
  LabelScopes labels_;
  OperandParser operands_;
  int loc_ = 0;
};

}  // namespace vgpu::ptx
