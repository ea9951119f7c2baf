// Cuts PTX text into tokens. Tokens are views into the text: nothing is copied until the parser keeps a name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ast.h"

namespace vgpu::ptx {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,         // a name or an opcode with its dotted parts: %r1, $L__BB0_2, ld.global.L2::128B.u32, %tid.x
  kDirective,    // .reg, .b32, … : one dot and one word
  kInteger,      // value; `is_unsigned` for a U suffix or a value beyond the signed range
  kFloat32,      // value: the bits of 0f…
  kFloat64,      // value: the bits of 0d… or of a decimal
  kString,       // text without its quotes
  kPunctuation,  // one character, in `punctuation`
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  char punctuation = 0;
  bool is_unsigned = false;
  int line = 1;
  std::string_view text;
  uint64_t value = 0;

  bool is(char c) const { return kind == TokenKind::kPunctuation && punctuation == c; }
  bool is_directive(std::string_view name) const { return kind == TokenKind::kDirective && text == name; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  // The next token; kEnd again and again at the end. Throws ParseError.
  Token next();

 private:
  void skip_blanks_and_comments();
  Token lex_word();
  Token lex_directive();
  Token lex_string();
  Token lex_number();
  Token lex_digits(int base, size_t start);
  Token lex_float_bits(int digits, TokenKind kind);
  Token lex_decimal_float();
  Token make(TokenKind kind, size_t start) const;
  void refuse_number_tail(size_t start) const;
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::string_view text_;
  size_t pos_ = 0;
  int line_ = 1;
};

// A piece of the module as it may appear in a message: quoted, cut short, without control characters.
std::string in_quotes(std::string_view text);

}  // namespace vgpu::ptx
