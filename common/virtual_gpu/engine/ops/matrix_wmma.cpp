// wmma.mma.sync.aligned. A wmma is two m16n8 tiles: side by side in m16n16, one above the other in m32n8.
// m8n32 is the transpose of m32n8: B's fragment has the layout of A's there, and A's that of B's.
// Fragments do not depend on how the matrices lie in memory, so `.row` and `.col` run the same code.
#include <array>
#include <string>
#include <string_view>

#include "ops/matrix_elements.h"
#include "ops/matrix_names.h"
#include "ops/matrix_rows.h"
#include "ops/matrix_tile_run.h"
#include "ops/matrix_wmma_shape.h"

namespace vgpu::matrix {
namespace {

template <class Element, WmmaShape kShape, class D, class C>
void wmma(Warp& w, const Op& op) {
  using Fragments = WmmaFragments<Element, kShape>;
  using T = typename Fragments::TileType;
  const uint32_t* d = op.list;
  const uint32_t* a = d + 4 * D::kRegistersPerPair;
  const uint32_t* b = a + Fragments::kARegisters;
  const uint32_t* c = b + Fragments::kBRegisters;
  if constexpr (kShape.m == 16) {
    run_tiles<T, D, C, 2, 0, T::kBRegisters>(w, d, a, b, c);
  } else if constexpr (kShape.m == 32) {
    run_tiles<T, D, C, 2, T::kARegisters, 0>(w, d, a, b, c);
  } else {
    run_tiles<T, D, C, 2, T::kARegisters, 0>(w, d, b, a, c);
  }
}

constexpr const char* kMemoryLayouts[] = {"row.row", "row.col", "col.row", "col.col"};

// A row for each memory layout; `registers` are those of D, A, B and C.
void add_wmma_form(FormTable& table, WmmaShape shape, std::string_view types,
                   const std::array<int, 4>& registers, OpFn fn) {
  const auto [d, a, b, c] = registers;
  const std::string signature = matrix_signature("32", d, a, b, c);
  for (const char* layouts : kMemoryLayouts) {
    add_warp_row(
        table, concat({"wmma.mma.sync.aligned.", layouts, ".", shape_name(shape.m, shape.n, shape.k), types}),
        signature, fn);
  }
}

template <class Element, WmmaShape kShape, class D, class C>
void add_form(FormTable& table, std::string_view types) {
  using Fragments = WmmaFragments<Element, kShape>;
  static constexpr std::array<int, 4> kRegisters{4 * D::kRegistersPerPair, Fragments::kARegisters,
                                                 Fragments::kBRegisters, 4 * C::kRegistersPerPair};
  add_wmma_form(table, kShape, types, kRegisters, wmma<Element, kShape, D, C>);
}

template <WmmaShape kShape>
void add_k16_forms(FormTable& table) {
  using element::Bf16;
  using element::F16;
  using element::S8;
  using element::U8;
  // f16 alone leaves the types of A and B out of the name: only D and C differ.
  add_form<F16, kShape, accumulator::F16, accumulator::F16>(table, ".f16.f16");
  add_form<F16, kShape, accumulator::F16, accumulator::F32>(table, ".f16.f32");
  add_form<F16, kShape, accumulator::F32, accumulator::F16>(table, ".f32.f16");
  add_form<F16, kShape, accumulator::F32, accumulator::F32>(table, ".f32.f32");
  add_form<Bf16, kShape, accumulator::F32, accumulator::F32>(table, ".f32.bf16.bf16.f32");
  using Wrapping = accumulator::S32<false>;
  using Saturating = accumulator::S32<true>;
  add_form<S8, kShape, Wrapping, Wrapping>(table, ".s32.s8.s8.s32");
  add_form<U8, kShape, Wrapping, Wrapping>(table, ".s32.u8.u8.s32");
  add_form<S8, kShape, Saturating, Saturating>(table, ".s32.s8.s8.s32.satfinite");
  add_form<U8, kShape, Saturating, Saturating>(table, ".s32.u8.u8.s32.satfinite");
}

}  // namespace

void add_wmma_rows(FormTable& table) {
  add_k16_forms<WmmaShape{16, 16, 16}>(table);
  add_k16_forms<WmmaShape{32, 8, 16}>(table);
  add_k16_forms<WmmaShape{8, 32, 16}>(table);
  add_form<element::Tf32, WmmaShape{16, 16, 8}, accumulator::F32, accumulator::F32>(table,
                                                                                    ".f32.tf32.tf32.f32");
}

}  // namespace vgpu::matrix
