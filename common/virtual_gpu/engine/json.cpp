#include "json.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace vgpu::json {
namespace {

constexpr int kMaxDepth = 64;  // deeper nesting than any file of ours; keeps a hostile one off the stack

const char* kind_name(Value::Kind kind) {
  constexpr const char* kNames[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
  return kNames[static_cast<int>(kind)];
}

void append_utf8(std::string& out, uint32_t code) {
  auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6), put(0x80 | (code & 63));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
  } else {
    put(0xf0 | code >> 18), put(0x80 | (code >> 12 & 63)), put(0x80 | (code >> 6 & 63)),
        put(0x80 | (code & 63));
  }
}

// How many bytes the UTF-8 sequence at `at` takes; 0 when it is not valid UTF-8.
size_t utf8_length(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  const size_t length = first < 0x80       ? 1
                        : first >> 5 == 6  ? 2
                        : first >> 4 == 14 ? 3
                        : first >> 3 == 30 ? 4
                                           : 0;
  if (length == 0 || at + length > text.size()) return 0;
  uint32_t code = length == 1 ? first : first & (0xff >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (byte(at + i) >> 6 != 2) return 0;
    code = code << 6 | (byte(at + i) & 63);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kSmallest[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

}  // namespace

void Value::expect(Kind kind) const {
  if (kind_ != kind)
    throw std::runtime_error(std::string("expected ") + kind_name(kind) + ", found " + kind_name(kind_));
}

double Value::number() const {
  expect(Kind::kNumber);
  return number_;
}

const std::string& Value::string() const {
  expect(Kind::kString);
  return string_;
}

const std::vector<Value>& Value::array() const {
  expect(Kind::kArray);
  return array_;
}

const std::map<std::string, Value>& Value::object() const {
  expect(Kind::kObject);
  return object_;
}

const Value* Value::get(const std::string& key) const {
  const auto found = object().find(key);
  return found == object_.end() ? nullptr : &found->second;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value document() {
    Value value = element(0);
    skip_blanks();
    if (at_ != text_.size()) fail("the end of the document");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& expected) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n';
    }
    throw std::runtime_error("line " + std::to_string(line) + ", column " + std::to_string(column) +
                             ": expected " + expected);
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool accept(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void require(char c) {
    skip_blanks();
    if (!accept(std::string_view(&c, 1))) fail(std::string("'") + c + "'");
  }

  Value element(int depth) {
    if (depth > kMaxDepth) fail("less nesting");
    skip_blanks();
    Value value;
    if (accept("null")) return value;
    if (accept("true") || accept("false")) {
      value.kind_ = Value::Kind::kBool;
    } else if (accept("{")) {
      object(value, depth);
    } else if (accept("[")) {
      array(value, depth);
    } else if (text_.substr(at_, 1) == "\"") {
      value.kind_ = Value::Kind::kString;
      value.string_ = string();
    } else {
      number(value);
    }
    return value;
  }

  void object(Value& value, int depth) {
    value.kind_ = Value::Kind::kObject;
    skip_blanks();
    if (accept("}")) return;
    do {
      skip_blanks();
      std::string key = string();
      require(':');
      value.object_[std::move(key)] = element(depth + 1);
      skip_blanks();
    } while (accept(","));
    require('}');
  }

  void array(Value& value, int depth) {
    value.kind_ = Value::Kind::kArray;
    skip_blanks();
    if (accept("]")) return;
    do {
      value.array_.push_back(element(depth + 1));
      skip_blanks();
    } while (accept(","));
    require(']');
  }

  void number(Value& value) {
    value.kind_ = Value::Kind::kNumber;
    const char* begin = text_.data() + at_;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), value.number_);
    // from_chars also reads "inf" and "nan", which JSON does not know.
    if (status != std::errc() || !std::isfinite(value.number_)) fail("a value");
    at_ += static_cast<size_t>(end - begin);
  }

  uint32_t hex4() {
    uint32_t code = 0;
    const std::string_view digits = text_.substr(at_, 4);
    const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (status != std::errc() || end != digits.data() + 4) fail("four hexadecimal digits");
    at_ += 4;
    return code;
  }

  std::string string() {
    if (!accept("\"")) fail("a string");
    std::string out;
    while (true) {
      if (at_ >= text_.size()) fail("'\"' at the end of a string");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      escape(out);
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = at_ < text_.size() ? text_[at_++] : '\0';
    const size_t known = letter == '\0' ? std::string_view::npos : kLetters.find(letter);
    if (known != std::string_view::npos) {
      out.push_back(kMeanings[known]);
      return;
    }
    if (letter != 'u') fail("an escape such as \\n or \\u0041");
    uint32_t code = hex4();
    if (code >= 0xd800 && code < 0xdc00 && accept("\\u")) {
      const uint32_t low = hex4();
      if (low < 0xdc00 || low >= 0xe000) fail("the second half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
  }

  std::string_view text_;
  size_t at_ = 0;
};

Value parse(std::string_view text) {
  return Parser(text).document();
}

Value parse_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw std::runtime_error(path + ": cannot be read");
  try {
    return parse(text.str());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

void Writer::separate() {
  if (!first_) out_.push_back(',');
  first_ = false;
}

Writer& Writer::open(char bracket) {
  separate();
  out_.push_back(bracket);
  first_ = true;
  return *this;
}

Writer& Writer::close(char bracket) {
  out_.push_back(bracket);
  first_ = false;
  return *this;
}

// Names and messages may hold bytes that a program chose: what is not UTF-8 becomes U+FFFD, so that every
// reader accepts the report.
void Writer::quote(std::string_view text) {
  out_.push_back('"');
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const size_t length = utf8_length(text, i);
    if (c == '"' || c == '\\') {
      out_.push_back('\\');
      out_.push_back(text[i]);
    } else if (c < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out_ += escaped;
    } else if (length == 0) {
      out_ += "\xef\xbf\xbd";
    } else {
      out_ += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  out_.push_back('"');
}

Writer& Writer::key(std::string_view name) {
  separate();
  quote(name);
  out_.push_back(':');
  first_ = true;  // the value that follows takes no comma
  return *this;
}

Writer& Writer::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

Writer& Writer::value(bool yes) {
  separate();
  out_ += yes ? "true" : "false";
  return *this;
}

Writer& Writer::value(double number) {
  separate();
  if (!std::isfinite(number)) {
    out_ += "null";
    return *this;
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out_.append(text, end);
  return *this;
}

Writer& Writer::value(int64_t number) {
  separate();
  out_ += std::to_string(number);
  return *this;
}

Writer& Writer::value(uint64_t number) {
  separate();
  out_ += std::to_string(number);
  return *this;
}

}  // namespace vgpu::json
