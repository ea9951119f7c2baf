#include "blas/view.h"

#include <algorithm>
#include <string>

#include "checks/host_findings.h"

namespace vgpu::blas {

View::View(const wire::BlasMatrix& matrix, int64_t rows, int64_t columns, uint64_t address)
    : type_(find_type(matrix.type)),
      address_(address),
      row_stride_(matrix.row_stride),
      column_stride_(matrix.column_stride),
      rows_(rows),
      columns_(columns),
      shape_(matrix.shape) {}

Number View::get(int64_t row, int64_t column) const {
  if (row == column && shape_ & wire::kUnitDiagonal) return 1.0;
  bool conjugate = (shape_ & wire::kConjugated) != 0;
  if (!is_stored(row, column)) {
    if (shape_ & wire::kTriangular) return 0.0;
    std::swap(row, column);
    conjugate ^= (shape_ & wire::kHermitian) != 0;
  }
  const Number value = type_->load(host(row, column));
  if (row == column && shape_ & wire::kHermitian) return value.real();
  return conjugate ? std::conj(value) : value;
}

template <class Visit>
bool View::each_run(Visit visit) const {
  const bool along_rows = row_stride_ == 1 || row_stride_ == -1;
  const int64_t outer = along_rows ? columns_ : rows_, inner = along_rows ? rows_ : columns_;
  const int64_t step = along_rows ? row_stride_ : column_stride_;
  const bool has_triangle = (shape_ & (wire::kUpper | wire::kLower)) != 0;
  for (int64_t o = 0; o < outer; ++o) {
    // The stored part of this line: all of it, or what lies on one side of the diagonal.
    int64_t from = 0, to = inner;
    if (has_triangle) {
      const int64_t skipped = shape_ & wire::kUnitDiagonal ? 1 : 0;
      const bool begins_at_diagonal = along_rows == ((shape_ & wire::kLower) != 0);
      (begins_at_diagonal ? from : to) = std::min(inner, begins_at_diagonal ? o + skipped : o + 1 - skipped);
    }
    if (from >= to) continue;
    if (step == 1 || step == -1) {
      const int64_t first = step == 1 ? from : to - 1;
      const uint64_t at = along_rows ? address(first, o) : address(o, first);
      if (!visit(at, static_cast<uint64_t>(to - from) * type_->bytes)) return false;
      continue;
    }
    for (int64_t i = from; i < to; ++i)
      if (!visit(along_rows ? address(i, o) : address(o, i), uint64_t{type_->bytes})) return false;
  }
  return true;
}

bool View::check(Use use, const char* function, const DeviceMemory& memory, bool check_init,
                 Finding* finding) const {
  if (rows_ == 0 || columns_ == 0) return true;
  __int128 low = 0, high = 0;
  for (const auto& [count, stride] : {std::pair(rows_, row_stride_), std::pair(columns_, column_stride_)}) {
    const __int128 reach = static_cast<__int128>(count - 1) * stride;
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<__int128>(type_->bytes);
  const __int128 first = static_cast<__int128>(address_) + low * size, bytes = (high - low + 1) * size;
  const Allocation* a = first >= 0 && first >> 64 == 0 ? memory.find(static_cast<uint64_t>(first)) : nullptr;
  if (a == nullptr || bytes > static_cast<__int128>(a->end()) - first) {
    const std::string verb = std::string(function) + (use == Use::kRead ? " reads" : " writes");
    *finding = checks::operand_out_of_range(verb, static_cast<uint64_t>(first), static_cast<uint64_t>(bytes),
                                            memory);
    return false;
  }
  if (use == Use::kWritten || !check_init || a->all_written) return true;
  each_run([&](uint64_t at, uint64_t run) {
    if (memory.is_written(*a, at, run)) return true;
    while (memory.is_written(*a, at, type_->bytes)) at += type_->bytes;
    *finding = checks::unwritten_operand(function, *a, at);
    return false;
  });
  return true;
}

void View::mark_written(DeviceMemory& memory) const {
  if (rows_ == 0 || columns_ == 0) return;
  Allocation* a = memory.find(address(0, 0));
  if (a == nullptr || a->all_written) return;
  each_run([&](uint64_t at, uint64_t run) {
    memory.mark_written(*a, at, run);
    return true;
  });
}

}  // namespace vgpu::blas
