// The tensor-core operations as a library that Python can call: registers in, registers out.
#include <cstring>
#include <string_view>
#include <vector>

#include "exec/warp.h"
#include "ops/matrix.h"

namespace {

using vgpu::kLanes;
using vgpu::OpForm;

constexpr uint32_t kSlotBytes = 8 * kLanes;  // room for a 64-bit register

const OpForm* find_form(std::string_view name) {
  for (const OpForm& form : vgpu::matrix_forms()) {
    if (name == form.name) return &form;
  }
  return nullptr;
}

}  // namespace

extern "C" {

int form_count() {
  return static_cast<int>(vgpu::matrix_forms().size());
}
const char* form_name(int index) {
  return vgpu::matrix_forms()[index].name;
}
const char* form_signature(int index) {
  return vgpu::matrix_forms()[index].signature;
}

// Runs a form on a register file of 256-byte slots; `slots` lists the operands' slots in the order of the
// signature. Returns 0 when there is no such form.
int run_form(const char* name, uint8_t* file, const uint32_t* slots, int operands) {
  const OpForm* form = find_form(name);
  if (form == nullptr) return 0;
  vgpu::Warp warp;
  warp.regs = file;
  warp.exec = vgpu::kAllLanes;
  vgpu::Op op;
  std::vector<uint32_t> list;
  for (int i = 0; i < operands; ++i) list.push_back(slots[i] * kSlotBytes);
  op.list = list.data();
  op.dst = list[0];  // scalar forms read these instead of the list
  op.src[0] = list[1];
  form->full(warp, op);
  return 1;
}

// Writes rows, cols, row_major, is_store, element_bytes, register_bytes, registers and elements_per_register,
// then (row, col) of every lane, register and element. Returns the count of numbers, 0 for an unknown opcode.
int wmma_layout(const char* opcode, int* out) {
  const vgpu::WmmaLayout* layout = vgpu::wmma_layout(opcode);
  if (layout == nullptr) return 0;
  int* next = out;
  for (const int value :
       {layout->rows, layout->cols, static_cast<int>(layout->row_major), static_cast<int>(layout->is_store),
        layout->element_bytes, layout->register_bytes, layout->registers, layout->elements_per_register}) {
    *next++ = value;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int reg = 0; reg < layout->registers; ++reg) {
      for (int sub = 0; sub < layout->elements_per_register; ++sub) {
        const vgpu::WmmaElement at = vgpu::wmma_element(*layout, lane, reg, sub);
        *next++ = at.row;
        *next++ = at.col;
      }
    }
  }
  return static_cast<int>(next - out);
}

void ldmatrix(const uint8_t* rows, int count, int trans, uint32_t* out) {
  vgpu::ldmatrix_distribute(reinterpret_cast<const uint8_t (*)[16]>(rows), count, trans != 0,
                            reinterpret_cast<uint32_t (*)[kLanes]>(out));
}

void stmatrix(const uint32_t* in, int count, int trans, uint8_t* rows) {
  vgpu::stmatrix_collect(reinterpret_cast<const uint32_t (*)[kLanes]>(in), count, trans != 0,
                         reinterpret_cast<uint8_t (*)[16]>(rows));
}
}
