// The product of one tile: M x K times K x 8, the shape into which every mma and wmma falls apart.
//
// PTX spreads a tile over the warp in blocks of 8 rows: lane 4 * g + t holds, of row g, the elements from
// t * E on, where E elements fit a register. Read lane after lane, a register is thus a dense, row-major
// block of 8 rows and 4 * E columns. A is a grid of such blocks, the two row halves of a column of blocks
// next to each other; B is a column of them, transposed (g counts the columns of B). Row g of the result
// lies in lanes 4 * g … 4 * g + 3, even columns in one register and odd columns in the next.
#pragma once

#include <cstdint>

#include "exec/op.h"
#include "ops/matrix_elements.h"
#include "ops/matrix_float8.h"

namespace vgpu::matrix {

// The three steps of a tile are kept out of line: there are many more combinations of types than of parts.

// Registers of A to floats: for each block of k and each half of M, 8 rows.
template <class Element, int kRegisters, int kBlockK>
[[gnu::noinline]] void load_a(const uint8_t* regs, const uint32_t* a, float (*rows)[8 * kBlockK]) {
  for (int i = 0; i < kRegisters; ++i) Element::widen(regs + a[i], rows[i]);
}

// Registers of B to its rows as floats, columns in the order 0 2 4 6 1 3 5 7.
template <class Element, int kBlocks, int kBlockK>
[[gnu::noinline]] void load_b(const uint8_t* regs, const uint32_t* b, float (*rows)[8]) {
  for (int block = 0; block < kBlocks; ++block) {
    alignas(64) float columns[8 * kBlockK];
    Element::widen(regs + b[block], columns);
    float* block_rows = rows[block * kBlockK];
    if constexpr (kBlockK % 8 == 0) {
      for (int k = 0; k < kBlockK; k += 8) transpose_even_odd(columns + k, kBlockK, block_rows + 8 * k);
    } else {
      for (int k = 0; k < kBlockK; ++k) {
        for (int i = 0; i < 8; ++i) block_rows[8 * k + i] = columns[(2 * (i % 4) + i / 4) * kBlockK + k];
      }
    }
  }
}

// The products, as pairs of 32 sums: sums[2 * half] has the even columns of rows 8 * half … 8 * half + 7, and
// the next one the odd columns, lane by lane as 32-bit accumulators hold them.
// kInRange: no product of two elements leaves the range of floats.
template <int kRowHalves, int kBlocks, int kBlockK, bool kInRange>
[[gnu::noinline]] void multiply_rows(const float (*a)[8 * kBlockK], const float (*b)[8],
                                     float (*sums)[kLanes]) {
  for (int half = 0; half < kRowHalves; ++half) {
    Float8 row[8];
    for (int g = 0; g < 8; ++g) row[g] = zero8();
    for (int block = 0; block < kBlocks; ++block) {
      const float* a_rows = a[block * kRowHalves + half];
      for (int k = 0; k < kBlockK; ++k) {
        const Float8 b_row = load8(b[block * kBlockK + k]);
#pragma GCC unroll 8
        for (int g = 0; g < 8; ++g)
          row[g] = kInRange ? multiply_add_in_range(a_rows[g * kBlockK + k], b_row, row[g])
                            : multiply_add(a_rows[g * kBlockK + k], b_row, row[g]);
      }
    }
    for (int g = 0; g < 8; ++g) store_halves(row[g], sums[2 * half] + 4 * g, sums[2 * half + 1] + 4 * g);
  }
}

template <class AElement, class BElement, int M, int K>
struct Tile {
  static_assert(AElement::kPerRegister == BElement::kPerRegister, "A and B cover k in the same blocks");
  static constexpr int kBlockK = 4 * AElement::kPerRegister;
  static constexpr int kBlocks = K / kBlockK;
  static constexpr int kRowHalves = M / 8;
  static constexpr int kARegisters = kRowHalves * kBlocks;
  static constexpr int kBRegisters = kBlocks;
  static constexpr int kSums = 2 * kRowHalves;

  // `a` and `b` are offsets of registers into `regs`. Integer products and their sums stay below 2^24
  // (255 * 255 * 32), so that they are exact in float too.
  static void multiply(const uint8_t* regs, const uint32_t* a, const uint32_t* b, float (*sums)[kLanes]) {
    alignas(64) float a_rows[kARegisters][8 * kBlockK];
    alignas(64) float b_rows[K][8];
    load_a<AElement, kARegisters, kBlockK>(regs, a, a_rows);
    load_b<BElement, kBlocks, kBlockK>(regs, b, b_rows);
    constexpr bool kInRange = kFusedDiffers && AElement::kInRange && BElement::kInRange;
    multiply_rows<kRowHalves, kBlocks, kBlockK, kInRange>(a_rows, b_rows, sums);
  }
};

}  // namespace vgpu::matrix
