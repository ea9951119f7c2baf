// Puts opcode names and signatures together from their parts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace vgpu::matrix {

inline std::string concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(part);
  return text;
}

inline std::string shape_name(int m, int n, int k) {
  return concat({"m", std::to_string(m), "n", std::to_string(n), "k", std::to_string(k)});
}

// The signature of D, A, B, C as vectors of that many registers: "32x4 32x4 32x2 32x4".
inline std::string matrix_signature(std::string_view width, int d, int a, int b, int c) {
  const auto vector = [&](int registers) { return concat({width, "x", std::to_string(registers)}); };
  return concat({vector(d), " ", vector(a), " ", vector(b), " ", vector(c)});
}

}  // namespace vgpu::matrix
