// Types, and what follows a state space in a declaration: `.align 8 .b8 name[4][5]`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ast.h"
#include "token_stream.h"

namespace vgpu::ptx {

// Null when the directive names no type (or one that only opcodes carry, such as .tf32).
const Type* find_type(std::string_view directive);

// Null when the directive names no state space a variable can live in.
const Space* find_space(std::string_view directive);

// The part that all names of one declaration share.
struct DeclarationHead {
  Space space = Space::kGlobal;
  Type type;
  int vector_width = 1;
  uint64_t align = 0;  // 0: the natural alignment of the element
  bool is_managed = false;
};

struct Declarator {
  std::string_view name;
  int line = 0;
  std::vector<uint64_t> dimensions;  // outermost first, the vector width last; 0 for an unsized []
};

// `.attribute(.managed)` and `.attribute(.unified(a, b))`, the current token being `.attribute`.
void parse_attribute(TokenStream& tokens, DeclarationHead& head);

// Reads alignment, attributes, vector width and type, up to the first name.
DeclarationHead parse_declaration_head(TokenStream& tokens, Space space);

Declarator parse_declarator(TokenStream& tokens, const DeclarationHead& head);

// The variable without its initialiser; an unsized one has 0 bytes.
Variable make_variable(const DeclarationHead& head, const Declarator& declarator);

// `(.param .u64 a, .param .align 8 .b8 b[80])`, of a function or of a prototype.
std::vector<Variable> parse_parameter_list(TokenStream& tokens);

}  // namespace vgpu::ptx
