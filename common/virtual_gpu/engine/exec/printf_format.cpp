#include "exec/printf_format.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace vgpu {

namespace {

constexpr int64_t kWidest = 4096;
constexpr size_t kPiece = 3 * kWidest;  // a whole number of 309 digits, a point, kWidest decimals

// A conversion of the format: flags, width and precision as printf takes them, without its length modifiers.
struct Conversion {
  std::string spec = "%";
  bool wide = false;
  int halves = 0;  // of an int, by how many "h": a short, a char
  char letter = 0;
  size_t end = 0;  // behind the letter; 0 when the format ends before it
};

size_t read_number(const std::string& format, size_t at, int64_t* value) {
  *value = 0;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    *value = std::min(*value * 10 + (format[at] - '0'), kWidest);
  return at;
}

Conversion read_conversion(const std::string& format, size_t at, const PrintfArguments& arguments) {
  Conversion c;
  auto letter = [&] { return at < format.size() ? format[at] : '\0'; };
  for (; letter() != 0 && std::strchr("-+ #0", letter()); ++at)
    if (c.spec.find(letter()) == std::string::npos) c.spec += letter();
  auto star = [&] {
    ++at;
    return static_cast<int64_t>(static_cast<int32_t>(arguments.take(4)));
  };
  int64_t width = 0;
  if (letter() == '*')
    width = star();
  else
    at = read_number(format, at, &width);
  if (width < 0) c.spec += '-';
  if (width != 0) c.spec += std::to_string(std::min(width < 0 ? -width : width, kWidest));
  if (letter() == '.') {
    int64_t precision = 0;
    ++at;
    if (letter() == '*')
      precision = star();
    else
      at = read_number(format, at, &precision);
    if (precision >= 0) c.spec += "." + std::to_string(std::min(precision, kWidest));
  }
  for (; letter() != 0 && std::strchr("hlLjzt", letter()); ++at) {
    c.wide |= letter() != 'h';
    if (letter() == 'h') c.halves = std::min(c.halves + 1, 2);
  }
  c.letter = letter();
  c.end = c.letter != 0 ? at + 1 : 0;
  return c;
}

std::string convert(const Conversion& c, const PrintfArguments& arguments) {
  constexpr const char* kHalves[] = {"", "h", "hh"};
  char piece[kPiece];
  auto print = [&](const char* length, auto value) {
    std::snprintf(piece, sizeof piece, (c.spec + length + c.letter).c_str(), value);
    return std::string(piece);
  };
  switch (c.letter) {
    case 'd':
    case 'i':
      return c.wide ? print("ll", static_cast<long long>(arguments.take(8)))
                    : print(kHalves[c.halves], static_cast<int>(arguments.take(4)));
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return c.wide ? print("ll", static_cast<unsigned long long>(arguments.take(8)))
                    : print(kHalves[c.halves], static_cast<unsigned>(arguments.take(4)));
    case 'c':
      return print("", static_cast<int>(arguments.take(4)));
    case 'p':
      return print("", reinterpret_cast<void*>(arguments.take(8)));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
      const uint64_t bits = arguments.take(8);
      double value;
      std::memcpy(&value, &bits, sizeof value);
      return print("", value);
    }
    case 's':
      return print("", arguments.text_at(arguments.take(8)).c_str());
    default:
      return std::string("%") + c.letter;
  }
}

}  // namespace

std::string format_text(const std::string& format, const PrintfArguments& arguments) {
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const Conversion c = read_conversion(format, at + 1, arguments);
    if (c.end == 0) return out + format.substr(at);
    out += c.letter == '%' ? "%" : convert(c, arguments);
    at = c.end;
  }
  return out;
}

}  // namespace vgpu
