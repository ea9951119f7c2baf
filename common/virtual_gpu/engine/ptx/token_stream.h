// The parser's view of the tokens: two tokens of lookahead, and the ways to demand one, each of which says
// what was expected when something else is found.
#pragma once

#include <string>
#include <string_view>

#include "lexer.h"

namespace vgpu::ptx {

class TokenStream {
 public:
  explicit TokenStream(std::string_view text)
      : lexer_(text), current_(lexer_.next()), following_(lexer_.next()) {}

  const Token& peek() const { return current_; }
  const Token& peek_second() const { return following_; }
  bool at_end() const { return current_.kind == TokenKind::kEnd; }
  int line() const { return current_.line; }

  Token take() {
    Token taken = current_;
    current_ = following_;
    following_ = lexer_.next();
    return taken;
  }
  bool accept(char punctuation) { return current_.is(punctuation) && (take(), true); }
  bool accept_directive(std::string_view name) { return current_.is_directive(name) && (take(), true); }

  void expect(char punctuation, const char* where);
  Token expect_word(const char* what);
  Token expect_name(const char* what);  // a word without dots: what can be declared
  Token expect_directive(const char* what);
  Token expect_string(const char* what);
  // A plain non-negative integer of at most `most`.
  uint64_t expect_count(uint64_t most, const char* what);

  // "expected WHAT, found TOKEN" at the current token.
  [[noreturn]] void fail_expected(const std::string& what) const;

 private:
  Lexer lexer_;
  Token current_;
  Token following_;
};

}  // namespace vgpu::ptx
