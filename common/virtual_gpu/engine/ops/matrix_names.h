// Puts opcode names and signatures together from their parts.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace vgpu::matrix {

std::string concat(std::initializer_list<std::string_view> parts);

std::string shape_name(int m, int n, int k);

// The signature of D, A, B, C as vectors of that many registers: "32x4 32x4 32x2 32x4".
std::string matrix_signature(std::string_view width, int d, int a, int b, int c);

}  // namespace vgpu::matrix
