#include "token_stream.h"

namespace vgpu::ptx {

void TokenStream::fail_expected(const std::string& what) const {
  const std::string found = at_end() ? "the end of the module" : in_quotes(current_.text);
  throw ParseError(current_.line, "expected " + what + ", found " + found);
}

void TokenStream::expect(char punctuation, const char* where) {
  if (!accept(punctuation)) fail_expected(std::string("'") + punctuation + "' " + where);
}

Token TokenStream::expect_word(const char* what) {
  if (current_.kind != TokenKind::kWord) fail_expected(what);
  return take();
}

Token TokenStream::expect_name(const char* what) {
  if (current_.text.find('.') != std::string_view::npos) fail_expected(what);
  return expect_word(what);
}

Token TokenStream::expect_directive(const char* what) {
  if (current_.kind != TokenKind::kDirective) fail_expected(what);
  return take();
}

Token TokenStream::expect_string(const char* what) {
  if (current_.kind != TokenKind::kString) fail_expected(what);
  return take();
}

uint64_t TokenStream::expect_count(uint64_t most, const char* what) {
  if (current_.kind != TokenKind::kInteger) fail_expected(what);
  if (current_.value > most) {
    throw ParseError(current_.line, in_quotes(current_.text) + " is too large for " + what + ": at most " +
                                        std::to_string(most) + " is accepted");
  }
  return take().value;
}

}  // namespace vgpu::ptx
