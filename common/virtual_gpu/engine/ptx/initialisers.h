// Initial values of module-scope variables.
#pragma once

#include "ast.h"
#include "declarations.h"
#include "module_symbols.h"
#include "token_stream.h"

namespace vgpu::ptx {

// Reads what follows '=' into variable.init and variable.relocations, zero-filled to the variable's size
// (which it sets when the array was declared with []). `initialised_bytes` sums up over a module: a module
// whose initial values would not fit in memory is refused before they are allocated.
void parse_initialiser(TokenStream& tokens, const Declarator& declarator, const ModuleSymbols& symbols,
                       Variable& variable, uint64_t& initialised_bytes);

}  // namespace vgpu::ptx
