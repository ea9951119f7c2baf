#include "lexer.h"

#include <array>
#include <charconv>
#include <cstring>

namespace vgpu::ptx {
namespace {

enum CharClass : uint8_t { kOther = 0, kBlank = 1, kDigit = 2, kNameStart = 4, kNamePart = 8, kPunct = 16 };

constexpr std::array<uint8_t, 256> make_char_classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = kNameStart | kNamePart;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = kNameStart | kNamePart;
  for (int c = '0'; c <= '9'; ++c) table[c] = kDigit | kNamePart;
  for (char c : std::string_view("_$")) table[static_cast<uint8_t>(c)] = kNameStart | kNamePart;
  table['%'] = kNameStart;  // only at the start of a name: %r1
  for (char c : std::string_view(" \t\r\n\f\v")) table[static_cast<uint8_t>(c)] = kBlank;
  for (char c : std::string_view(",;:{}()[]<>@!|+-*/&^~=?")) table[static_cast<uint8_t>(c)] = kPunct;
  return table;
}
constexpr std::array<uint8_t, 256> kCharClasses = make_char_classes();

bool has_class(char c, uint8_t classes) {
  return (kCharClasses[static_cast<uint8_t>(c)] & classes) != 0;
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string out = "'";
  for (char c : text.substr(0, kLongest)) out += (c >= ' ' && c <= '~') ? c : '?';
  if (text.size() > kLongest) out += "…";
  return out + "'";
}

Token Lexer::make(TokenKind kind, size_t start) const {
  Token token;
  token.kind = kind;
  token.line = line_;
  token.text = text_.substr(start, pos_ - start);
  return token;
}

void Lexer::skip_blanks_and_comments() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (has_class(c, kBlank)) {
      line_ += c == '\n';
      ++pos_;
    } else if (c == '/' && at(pos_ + 1) == '/') {
      const size_t end = text_.find('\n', pos_);
      pos_ = end == std::string_view::npos ? text_.size() : end;
    } else if (c == '/' && at(pos_ + 1) == '*') {
      const size_t end = text_.find("*/", pos_ + 2);
      if (end == std::string_view::npos) throw ParseError(line_, "expected '*/' to close this comment");
      for (size_t i = pos_; i < end; ++i) line_ += text_[i] == '\n';
      pos_ = end + 2;
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_blanks_and_comments();
  if (pos_ >= text_.size()) return make(TokenKind::kEnd, pos_);
  const char c = text_[pos_];
  if (has_class(c, kNameStart)) return lex_word();
  if (has_class(c, kDigit) || (c == '.' && has_class(at(pos_ + 1), kDigit))) return lex_number();
  if (c == '.') return lex_directive();
  if (c == '"') return lex_string();
  if (has_class(c, kPunct)) {
    ++pos_;
    Token token = make(TokenKind::kPunctuation, pos_ - 1);
    token.punctuation = c;
    return token;
  }
  // Fat binaries pad their PTX with zero bytes; anything after them would be silently lost.
  if (c == '\0' && text_.find_first_not_of('\0', pos_) == std::string_view::npos) {
    pos_ = text_.size();
    return make(TokenKind::kEnd, pos_);
  }
  throw ParseError(line_, "unexpected character " + in_quotes(text_.substr(pos_, 1)) + " (code " +
                              std::to_string(static_cast<uint8_t>(c)) + ")");
}

Token Lexer::lex_word() {
  const size_t start = pos_++;
  while (has_class(at(pos_), kNamePart)) ++pos_;
  // Dotted parts belong to the word: opcode modifiers (.L2::128B) and components (%tid.x).
  while (at(pos_) == '.' && has_class(at(pos_ + 1), kNamePart)) {
    ++pos_;
    while (has_class(at(pos_), kNamePart)) ++pos_;
    while (at(pos_) == ':' && at(pos_ + 1) == ':' && has_class(at(pos_ + 2), kNamePart)) {
      pos_ += 2;
      while (has_class(at(pos_), kNamePart)) ++pos_;
    }
  }
  return make(TokenKind::kWord, start);
}

Token Lexer::lex_directive() {
  const size_t start = pos_++;
  while (has_class(at(pos_), kNamePart)) ++pos_;
  while (at(pos_) == ':' && at(pos_ + 1) == ':' && has_class(at(pos_ + 2), kNamePart)) {
    pos_ += 2;
    while (has_class(at(pos_), kNamePart)) ++pos_;
  }
  if (pos_ == start + 1) throw ParseError(line_, "expected a directive name after '.'");
  return make(TokenKind::kDirective, start);
}

Token Lexer::lex_string() {
  const size_t start = ++pos_;
  // As in ptxas, a backslash is an ordinary character (Windows paths).
  while (pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\n') ++pos_;
  if (at(pos_) != '"') throw ParseError(line_, "expected '\"' to close this string");
  Token token = make(TokenKind::kString, start);
  ++pos_;
  return token;
}

Token Lexer::lex_number() {
  if (text_[pos_] == '0') {
    switch (at(pos_ + 1)) {
      case 'x':
      case 'X':
        pos_ += 2;
        return lex_digits(16, pos_ - 2);
      case 'b':
      case 'B':
        pos_ += 2;
        return lex_digits(2, pos_ - 2);
      case 'f':
      case 'F':
        return lex_float_bits(8, TokenKind::kFloat32);
      case 'd':
      case 'D':
        return lex_float_bits(16, TokenKind::kFloat64);
    }
  }
  size_t end = pos_;
  while (has_class(at(end), kDigit)) ++end;
  if (at(end) == '.' || at(end) == 'e' || at(end) == 'E') return lex_decimal_float();
  if (text_[pos_] == '0' && end > pos_ + 1) return lex_digits(8, pos_);
  return lex_digits(10, pos_);
}

Token Lexer::lex_digits(int base, size_t start) {
  const size_t first_digit = pos_;
  uint64_t value = 0;
  bool overflow = false;
  for (int digit; (digit = digit_value(at(pos_))) < base; ++pos_) {
    overflow |= __builtin_mul_overflow(value, static_cast<uint64_t>(base), &value);
    overflow |= __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value);
  }
  if (pos_ == first_digit)
    throw ParseError(line_, "expected digits after " + in_quotes(text_.substr(start, 2)));
  const bool has_suffix = at(pos_) == 'U';
  pos_ += has_suffix;
  refuse_number_tail(start);
  Token token = make(TokenKind::kInteger, start);
  if (overflow) throw ParseError(line_, "integer " + in_quotes(token.text) + " does not fit in 64 bits");
  token.value = value;
  token.is_unsigned = has_suffix || value > static_cast<uint64_t>(INT64_MAX);
  return token;
}

Token Lexer::lex_float_bits(int digits, TokenKind kind) {
  const size_t start = pos_;
  pos_ += 2;
  uint64_t bits = 0;
  int seen = 0;
  for (int digit; seen < digits && (digit = digit_value(at(pos_))) < 16; ++pos_, ++seen)
    bits = bits << 4 | digit;
  refuse_number_tail(start);
  if (seen != digits) {
    throw ParseError(line_, "expected " + std::to_string(digits) + " hexadecimal digits after " +
                                in_quotes(text_.substr(start, 2)) + ", found " + std::to_string(seen));
  }
  Token token = make(kind, start);
  token.value = bits;
  return token;
}

Token Lexer::lex_decimal_float() {
  const size_t start = pos_;
  double number = 0;
  const auto [end, error] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), number);
  pos_ = end - text_.data();
  if (error == std::errc::result_out_of_range) {
    throw ParseError(line_,
                     "decimal " + in_quotes(text_.substr(start, pos_ - start)) + " does not fit in a double");
  }
  refuse_number_tail(start);
  Token token = make(TokenKind::kFloat64, start);
  std::memcpy(&token.value, &number, sizeof number);
  return token;
}

void Lexer::refuse_number_tail(size_t start) const {
  if (!has_class(at(pos_), kNamePart)) return;
  size_t end = pos_;
  while (has_class(at(end), kNamePart)) ++end;
  throw ParseError(line_, "malformed number " + in_quotes(text_.substr(start, end - start)));
}

}  // namespace vgpu::ptx
