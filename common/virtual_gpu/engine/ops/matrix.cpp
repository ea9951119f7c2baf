#include "ops/matrix.h"

#include "ops/matrix_rows.h"

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
