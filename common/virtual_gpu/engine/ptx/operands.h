// Operands of instructions.
#pragma once

#include "ast.h"
#include "module_symbols.h"
#include "name_scopes.h"
#include "token_stream.h"

namespace vgpu::ptx {

class OperandParser {
 public:
  OperandParser(TokenStream& tokens, NameScopes& names, const ModuleSymbols& symbols,
                const Function& function)
      : tokens_(tokens), names_(names), symbols_(symbols), function_(function) {}

  Operand parse();

  // The index of a predicate register, as a guard or after '!'.
  int parse_predicate();

 private:
  Operand parse_vector();
  Operand parse_address();
  void parse_address_offset(Operand& address);
  Operand parse_element();  // what may stand inside a vector
  Operand parse_word();
  Operand parse_immediate();
  Operand parse_negated();

  TokenStream& tokens_;
  NameScopes& names_;
  const ModuleSymbols& symbols_;
  const Function& function_;
};

}  // namespace vgpu::ptx
