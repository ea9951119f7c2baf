// mma and wmma on doubles. Each element of D is a chain of fused multiply-adds that starts from C and runs
// along k, rounding to nearest: `.rn` only says so.
#include <cmath>
#include <cstring>
#include <string>

#include "exec/warp.h"
#include "ops/matrix_names.h"
#include "ops/matrix_rows.h"

namespace vgpu::matrix {
namespace {

constexpr int kRegisterBytes64 = 8 * kLanes;

// Fragments are laid out as those of 32-bit elements, one to a register (see matrix_tile.h).
template <int M, int K>
void mma_f64(Warp& w, const Op& op) {
  constexpr int kRowHalves = M / 8;
  constexpr int kBlocks = K / 4;
  constexpr int kSums = 2 * kRowHalves;
  ++w.matrix_instructions;
  const uint32_t* d = op.list;
  const uint32_t* a = d + kSums;
  const uint32_t* b = a + kRowHalves * kBlocks;
  const uint32_t* c = b + kBlocks;
  double a_blocks[kBlocks * kRowHalves][8][4];  // [row of the half][k of the block]
  double b_blocks[kBlocks][8][4];               // [column][k of the block]
  double sums[kSums][kLanes];
  for (int i = 0; i < kBlocks * kRowHalves; ++i) std::memcpy(a_blocks[i], w.regs + a[i], kRegisterBytes64);
  for (int i = 0; i < kBlocks; ++i) std::memcpy(b_blocks[i], w.regs + b[i], kRegisterBytes64);
  for (int i = 0; i < kSums; ++i) std::memcpy(sums[i], w.regs + c[i], kRegisterBytes64);
  for (int half = 0; half < kRowHalves; ++half) {
    for (int row = 0; row < 8; ++row) {
      for (int column = 0; column < 8; ++column) {
        double& sum = sums[2 * half + column % 2][4 * row + column / 2];
        for (int k = 0; k < K; ++k) {
          sum =
              std::fma(a_blocks[k / 4 * kRowHalves + half][row][k % 4], b_blocks[k / 4][column][k % 4], sum);
        }
      }
    }
  }
  for (int i = 0; i < kSums; ++i) std::memcpy(w.regs + d[i], sums[i], kRegisterBytes64);
}

template <int M, int K>
std::string f64_signature() {
  return matrix_signature("64", M / 4, M * K / 32, K / 4, M / 4);
}

template <int M, int K>
void add_form(FormTable& table) {
  for (const char* rounding : {"", ".rn"}) {
    add_warp_row(table,
                 concat({"mma.sync.aligned.", shape_name(M, 8, K), ".row.col.f64.f64.f64.f64", rounding}),
                 f64_signature<M, K>(), mma_f64<M, K>);
  }
}

}  // namespace

void add_f64_rows(FormTable& table) {
  add_form<8, 4>(table);
  add_form<16, 4>(table);
  add_form<16, 8>(table);
  add_form<16, 16>(table);
  for (const char* layouts : {"row.row", "row.col", "col.row", "col.col"}) {
    for (const char* rounding : {"", ".rn"}) {
      add_warp_row(table, concat({"wmma.mma.sync.aligned.", layouts, ".m8n8k4.f64.f64.f64.f64", rounding}),
                   f64_signature<8, 4>(), mma_f64<8, 4>);
    }
  }
}

}  // namespace vgpu::matrix
