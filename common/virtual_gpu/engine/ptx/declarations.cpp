#include "declarations.h"

namespace vgpu::ptx {
namespace {

// Beyond any device memory: a guard against sizes that overflow, not a device limit.
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 48;
constexpr uint64_t kMaxAlign = 1 << 20;
constexpr size_t kMaxDimensions = 16;

struct NamedType {
  std::string_view name;
  Type type;
};
constexpr NamedType kTypes[] = {
    {".b32", {TypeClass::kBits, 32}},     {".b64", {TypeClass::kBits, 64}},
    {".f32", {TypeClass::kFloat, 32}},    {".pred", {TypeClass::kPred, 1}},
    {".u64", {TypeClass::kUnsigned, 64}}, {".u32", {TypeClass::kUnsigned, 32}},
    {".b8", {TypeClass::kBits, 8}},       {".b16", {TypeClass::kBits, 16}},
    {".f64", {TypeClass::kFloat, 64}},    {".s32", {TypeClass::kSigned, 32}},
    {".s64", {TypeClass::kSigned, 64}},   {".u16", {TypeClass::kUnsigned, 16}},
    {".s16", {TypeClass::kSigned, 16}},   {".f16", {TypeClass::kFloat, 16}},
    {".u8", {TypeClass::kUnsigned, 8}},   {".s8", {TypeClass::kSigned, 8}},
    {".f16x2", {TypeClass::kBits, 32}},   {".b128", {TypeClass::kBits, 128}},
};

struct NamedSpace {
  std::string_view name;
  Space space;
};
constexpr NamedSpace kSpaces[] = {
    {".global", Space::kGlobal}, {".shared", Space::kShared}, {".local", Space::kLocal},
    {".const", Space::kConst},   {".param", Space::kParam},
};

int vector_width(std::string_view directive) {
  if (directive == ".v2") return 2;
  if (directive == ".v4") return 4;
  if (directive == ".v8") return 8;
  return 0;
}

uint64_t parse_align(TokenStream& tokens) {
  const int line = tokens.line();
  const uint64_t align = tokens.expect_count(kMaxAlign, "an alignment in bytes");
  if (align == 0 || (align & (align - 1)) != 0) {
    throw ParseError(line, "expected a power of two for .align, found " + std::to_string(align));
  }
  return align;
}

// `.ptr .global .align 8` says what a pointer parameter points at; nothing about the parameter itself.
void skip_pointer_attribute(TokenStream& tokens) {
  if (!tokens.accept_directive(".ptr")) return;
  while (tokens.peek().kind == TokenKind::kDirective) {
    if (tokens.accept_directive(".align")) {
      parse_align(tokens);
    } else if (find_space(tokens.peek().text) != nullptr) {
      tokens.take();
    } else {
      tokens.fail_expected("a state space or .align after .ptr");
    }
  }
}

Variable parse_parameter(TokenStream& tokens) {
  if (tokens.peek().is_directive(".reg")) {
    throw ParseError(tokens.line(),
                     "parameters in registers (.reg) are not supported: declare them as .param");
  }
  if (!tokens.accept_directive(".param")) tokens.fail_expected("'.param'");
  const DeclarationHead head = parse_declaration_head(tokens, Space::kParam);
  return make_variable(head, parse_declarator(tokens, head));
}

}  // namespace

const Type* find_type(std::string_view directive) {
  for (const NamedType& candidate : kTypes) {
    if (candidate.name == directive) return &candidate.type;
  }
  return nullptr;
}

const Space* find_space(std::string_view directive) {
  for (const NamedSpace& candidate : kSpaces) {
    if (candidate.name == directive) return &candidate.space;
  }
  return nullptr;
}

void parse_attribute(TokenStream& tokens, DeclarationHead& head) {
  tokens.take();
  tokens.expect('(', "after .attribute");
  do {
    const Token attribute = tokens.expect_directive("an attribute such as .managed");
    if (attribute.text == ".managed") {
      head.is_managed = true;
    } else if (attribute.text == ".unified") {
      tokens.expect('(', "after .unified");
      tokens.expect_count(UINT64_MAX, "the first half of a unified id");
      tokens.expect(',', "between the halves of a unified id");
      tokens.expect_count(UINT64_MAX, "the second half of a unified id");
      tokens.expect(')', "after the unified id");
    } else {
      throw ParseError(attribute.line, "attribute " + in_quotes(attribute.text) +
                                           " is not supported; .managed and .unified are");
    }
  } while (tokens.accept(','));
  tokens.expect(')', "after the attribute");
}

DeclarationHead parse_declaration_head(TokenStream& tokens, Space space) {
  DeclarationHead head;
  head.space = space;
  while (true) {
    if (tokens.accept_directive(".align")) {
      head.align = parse_align(tokens);
    } else if (tokens.peek().is_directive(".attribute")) {
      parse_attribute(tokens, head);
    } else if (tokens.peek().kind == TokenKind::kDirective && vector_width(tokens.peek().text) != 0) {
      head.vector_width = vector_width(tokens.take().text);
    } else {
      break;
    }
  }
  const Token name = tokens.expect_directive("a type such as .b32");
  const Type* type = find_type(name.text);
  if (type == nullptr || type->cls == TypeClass::kPred) {
    throw ParseError(name.line, "a variable cannot have type " + in_quotes(name.text) +
                                    "; expected .b8 to .b128, .u8 to .u64, .s8 to .s64, or .f16 to .f64");
  }
  head.type = *type;
  if (space == Space::kParam) skip_pointer_attribute(tokens);
  return head;
}

Declarator parse_declarator(TokenStream& tokens, const DeclarationHead& head) {
  const Token name = tokens.expect_name("the name of a variable");
  Declarator declarator{name.text, name.line, {}};
  while (tokens.accept('[')) {
    if (declarator.dimensions.size() == kMaxDimensions) {
      throw ParseError(name.line, in_quotes(name.text) + " has more than " + std::to_string(kMaxDimensions) +
                                      " array dimensions");
    }
    if (tokens.accept(']')) {
      if (!declarator.dimensions.empty()) {
        throw ParseError(name.line,
                         "only the first dimension of " + in_quotes(name.text) + " may be left open");
      }
      declarator.dimensions.push_back(0);
      continue;
    }
    const int line = tokens.line();
    const uint64_t count = tokens.expect_count(kMaxVariableBytes, "an array size");
    if (count == 0)
      throw ParseError(line, "array " + in_quotes(name.text) + " has a dimension of zero elements");
    declarator.dimensions.push_back(count);
    tokens.expect(']', "after the array size");
  }
  if (head.vector_width > 1) declarator.dimensions.push_back(head.vector_width);
  return declarator;
}

Variable make_variable(const DeclarationHead& head, const Declarator& declarator) {
  Variable variable;
  variable.name = declarator.name;
  variable.space = head.space;
  variable.type = head.type;
  variable.is_managed = head.is_managed;
  const uint64_t element_bytes = head.type.bytes();
  variable.align = head.align != 0 ? head.align : element_bytes * head.vector_width;
  variable.bytes = element_bytes;
  bool is_unsized = false;
  for (uint64_t count : declarator.dimensions) {
    is_unsized |= count == 0;
    const uint64_t factor = count == 0 ? 1 : count;
    if (__builtin_mul_overflow(variable.bytes, factor, &variable.bytes) ||
        variable.bytes > kMaxVariableBytes) {
      throw ParseError(declarator.line, "variable " + in_quotes(declarator.name) +
                                            " is larger than any memory: at most 2^48 bytes are accepted");
    }
  }
  if (is_unsized) variable.bytes = 0;
  return variable;
}

std::vector<Variable> parse_parameter_list(TokenStream& tokens) {
  std::vector<Variable> parameters;
  tokens.expect('(', "before the parameters");
  if (tokens.accept(')')) return parameters;
  do {
    parameters.push_back(parse_parameter(tokens));
  } while (tokens.accept(','));
  tokens.expect(')', "after the parameters");
  return parameters;
}

}  // namespace vgpu::ptx
