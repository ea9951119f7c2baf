// The parts of matrix_forms().
#pragma once

#include "ops/form_table.h"

namespace vgpu::matrix {

// A row for an operation of the whole warp: no lane is ever off, so both of its functions are the same.
inline void add_warp_row(FormTable& table, std::string_view name, std::string_view signature, OpFn fn) {
  table.add(name, signature, fn, fn);
}

void add_mma_rows(FormTable& table);
void add_wmma_rows(FormTable& table);
void add_f64_rows(FormTable& table);
void add_movmatrix_row(FormTable& table);

}  // namespace vgpu::matrix
