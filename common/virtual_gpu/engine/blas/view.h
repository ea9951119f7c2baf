// A matrix in device memory, as an operation sees it: strided, perhaps one triangle of it, checked before
// use.
#pragma once

#include <cstdint>

#include "blas/element.h"
#include "checks/finding.h"
#include "device/memory.h"
#include "protocol_blas.h"

namespace vgpu::blas {

class View {
 public:
  View() = default;
  // The matrix of one batch. Its shape is not looked at before `check`.
  View(const wire::BlasMatrix& matrix, int64_t rows, int64_t columns, uint64_t address);

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool is_stored(int64_t row, int64_t column) const {
    return !(shape_ & wire::kUpper && row > column) && !(shape_ & wire::kLower && row < column);
  }
  Number get(int64_t row, int64_t column) const;
  void set(int64_t row, int64_t column, Number value) const { type_->store(host(row, column), value); }

  enum class Use { kRead, kWritten, kBoth };
  // Whether all elements lie in one allocation, and whether those that are read have been written. What is
  // not so is written into `finding`; false where the memory is not there.
  bool check(Use use, const char* function, const DeviceMemory& memory, bool check_init,
             Finding* finding) const;
  void mark_written(DeviceMemory& memory) const;
  uint64_t bytes() const { return static_cast<uint64_t>(rows_ * columns_) * type_->bytes; }

 private:
  uint64_t address(int64_t row, int64_t column) const {
    return address_ + static_cast<uint64_t>((row * row_stride_ + column * column_stride_) *
                                            static_cast<int64_t>(type_->bytes));
  }
  uint8_t* host(int64_t row, int64_t column) const { return DeviceMemory::host(address(row, column)); }
  // Calls visit(address, bytes) for each run of stored elements that lie side by side, while it returns true.
  template <class Visit>
  bool each_run(Visit visit) const;

  const ElementType* type_ = nullptr;
  uint64_t address_ = 0;
  int64_t row_stride_ = 0, column_stride_ = 0, rows_ = 0, columns_ = 0;
  uint32_t shape_ = 0;
};

}  // namespace vgpu::blas
