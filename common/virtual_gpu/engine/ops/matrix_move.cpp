// Moving 8x8 matrices of 16-bit elements between rows of memory and the lanes of a warp.
// Row r of a matrix lies in lanes 4 * r … 4 * r + 3, two elements to a register: read lane after lane, the
// register is the dense matrix.
#include <cstring>

#include "exec/lanes.h"
#include "ops/matrix.h"
#include "ops/matrix_rows.h"

namespace vgpu {
namespace {

constexpr int kSide = 8;
constexpr int kMatrixBytes = 2 * kSide * kSide;

void transpose(const void* in, void* out) {
  uint16_t source[kSide][kSide], target[kSide][kSide];
  std::memcpy(source, in, kMatrixBytes);
  for (int r = 0; r < kSide; ++r) {
    for (int c = 0; c < kSide; ++c) target[c][r] = source[r][c];
  }
  std::memcpy(out, target, kMatrixBytes);
}

void movmatrix(Warp& w, const Op& op) {
  transpose(w.regs + op.src[0], w.regs + op.dst);
}

}  // namespace

void ldmatrix_distribute(const uint8_t rows[][16], int count, bool trans, uint32_t out[][32]) {
  for (int m = 0; m < count; ++m) {
    if (trans) {
      transpose(rows[kSide * m], out[m]);
    } else {
      std::memcpy(out[m], rows[kSide * m], kMatrixBytes);
    }
  }
}

void stmatrix_collect(const uint32_t in[][32], int count, bool trans, uint8_t rows[][16]) {
  for (int m = 0; m < count; ++m) {
    if (trans) {
      transpose(in[m], rows[kSide * m]);
    } else {
      std::memcpy(rows[kSide * m], in[m], kMatrixBytes);
    }
  }
}

void matrix::add_movmatrix_row(FormTable& table) {
  add_warp_row(table, "movmatrix.sync.aligned.m8n8.trans.b16", "32 32", movmatrix);
}

}  // namespace vgpu
