// Constant expressions: integers with their operators, and floating-point literals with a sign.
#pragma once

#include <cstdint>

#include "token_stream.h"

namespace vgpu::ptx {

struct Constant {
  enum class Kind : uint8_t { kInt, kFloat32, kFloat64 };
  Kind kind = Kind::kInt;
  bool is_unsigned = false;
  uint64_t value = 0;  // an integer in two's complement, or the bits of the float
};

// True when the current token can begin a constant expression. WARP_SZ counts only inside one: alone it is a
// special register.
bool starts_constant(const TokenStream& tokens);

Constant parse_constant(TokenStream& tokens);

// The same, where only an integer makes sense (`what` names it in the error).
uint64_t parse_integer_constant(TokenStream& tokens, const char* what);

}  // namespace vgpu::ptx
