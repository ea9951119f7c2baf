// Tensor-core operations: mma.sync, wmma.mma and movmatrix as table rows, and what the memory operations
// need to move fragments: where wmma.load and wmma.store put each element, and how ldmatrix and stmatrix
// spread 8x8 matrices over a warp. Nothing here touches memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "exec/op.h"

namespace vgpu {

// Rows for mma.sync.aligned, wmma.mma.sync.aligned and movmatrix. The caller makes sure that all 32 lanes
// are on, as `.aligned` demands; both function pointers of a row are therefore the same.
std::span<const OpForm> matrix_forms();

struct WmmaElement {
  uint8_t row, col;
};

// The fragment that a wmma.load or wmma.store moves: for a matrix of `rows` x `cols` elements in memory,
// element (row, col) is at base + (row_major ? row * stride + col : col * stride + row) * element_bytes.
// Some loads hold an element twice in a lane; a store never does.
struct WmmaLayout {
  int rows = 0;
  int cols = 0;
  bool row_major = true;
  bool is_store = false;
  int element_bytes = 0;
  int register_bytes = 4;              // 8 for f64
  int registers = 0;                   // of one lane
  int distinct = 0;                    // the first of them; the others hold the same elements again
  int elements_per_register = 1;       // packed from the low bits up
  const WmmaElement* table = nullptr;  // [lane][register][element in the register]
};

// The layout behind an opcode such as "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", with or without
// a state space. nullptr for a shape, type or spelling that is not implemented.
const WmmaLayout* wmma_layout(std::string_view opcode);

// Place in the matrix of element `sub` of register `reg` of a lane.
inline WmmaElement wmma_element(const WmmaLayout& layout, int lane, int reg, int sub) {
  return layout.table[(lane * layout.registers + reg) * layout.elements_per_register + sub];
}

// ldmatrix: `rows[8 * m + r]` holds row r of matrix m, as read from the address that lane 8 * m + r gave.
// Fills one 32-lane register for each of `count` (1, 2 or 4) matrices.
void ldmatrix_distribute(const uint8_t rows[][16], int count, bool trans, uint32_t out[][32]);

// stmatrix: the reverse; `rows[8 * m + r]` is what goes to the address that lane 8 * m + r gave.
void stmatrix_collect(const uint32_t in[][32], int count, bool trans, uint8_t rows[][16]);

}  // namespace vgpu
