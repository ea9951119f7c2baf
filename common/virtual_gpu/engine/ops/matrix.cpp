#include "ops/matrix.h"

#include "ops/matrix_names.h"
#include "ops/matrix_rows.h"

namespace vgpu::matrix {

std::string concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(part);
  return text;
}

std::string shape_name(int m, int n, int k) {
  return concat({"m", std::to_string(m), "n", std::to_string(n), "k", std::to_string(k)});
}

std::string matrix_signature(std::string_view width, int d, int a, int b, int c) {
  const auto vector = [&](int registers) { return concat({width, "x", std::to_string(registers)}); };
  return concat({vector(d), " ", vector(a), " ", vector(b), " ", vector(c)});
}

}  // namespace vgpu::matrix

namespace vgpu {

std::span<const OpForm> matrix_forms() {
  static const FormTable table = [] {
    FormTable t;
    t.count_as(InstrClass::kMatrix);
    matrix::add_mma_rows(t);
    matrix::add_wmma_rows(t);
    matrix::add_f64_rows(t);
    t.count_as(InstrClass::kWarp);
    matrix::add_movmatrix_row(t);
    return t;
  }();
  return table.rows();
}

}  // namespace vgpu
