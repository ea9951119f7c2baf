// mma.sync.aligned of every shape and type but f64.
#include <string_view>

#include "ops/matrix_elements.h"
#include "ops/matrix_names.h"
#include "ops/matrix_rows.h"
#include "ops/matrix_tile_run.h"

namespace vgpu::matrix {
namespace {

using element::Bf16;
using element::E4m3;
using element::E5m2;
using element::F16;
using element::S4;
using element::S8;
using element::Tf32;
using element::U4;
using element::U8;

template <class A, class B, int M, int K, class Accumulator>
void mma(Warp& w, const Op& op) {
  using T = Tile<A, B, M, K>;
  const uint32_t* d = op.list;
  const uint32_t* a = d + T::kRowHalves * Accumulator::kRegistersPerPair;
  const uint32_t* b = a + T::kARegisters;
  const uint32_t* c = b + T::kBRegisters;
  run_tiles<T, Accumulator, Accumulator, 1, 0, 0>(w, d, a, b, c);
}

// What an mma's name and signature say.
struct Form {
  int m, k;
  std::string_view a, b, accumulator;
  int sums, a_registers, b_registers;
};

void add_row(FormTable& table, const Form& f, std::string_view saturation, OpFn fn) {
  add_warp_row(table,
               concat({"mma.sync.aligned.", shape_name(f.m, 8, f.k), ".row.col.", saturation, f.accumulator,
                       ".", f.a, ".", f.b, ".", f.accumulator}),
               matrix_signature("32", f.sums, f.a_registers, f.b_registers, f.sums), fn);
}

template <class A, class B, int M, int K, class Accumulator>
void add_form(FormTable& table, std::string_view saturation = "") {
  using T = Tile<A, B, M, K>;
  static constexpr Form kForm{M,
                              K,
                              A::kName,
                              B::kName,
                              Accumulator::kName,
                              T::kRowHalves * Accumulator::kRegistersPerPair,
                              T::kARegisters,
                              T::kBRegisters};
  add_row(table, kForm, saturation, mma<A, B, M, K, Accumulator>);
}

template <class A, class B, int M, int K>
void add_integer_form(FormTable& table) {
  add_form<A, B, M, K, accumulator::S32<false>>(table);
  add_form<A, B, M, K, accumulator::S32<true>>(table, "satfinite.");
}

template <class Signed, class Unsigned, int M, int K>
void add_integer_forms(FormTable& table) {
  add_integer_form<Signed, Signed, M, K>(table);
  add_integer_form<Signed, Unsigned, M, K>(table);
  add_integer_form<Unsigned, Signed, M, K>(table);
  add_integer_form<Unsigned, Unsigned, M, K>(table);
}

// On Hopper, f16 accumulators of these types are rounded between several steps; they are left out.
template <int K>
void add_float8_forms(FormTable& table) {
  using Accumulator = accumulator::F32;
  add_form<E4m3, E4m3, 16, K, Accumulator>(table);
  add_form<E4m3, E5m2, 16, K, Accumulator>(table);
  add_form<E5m2, E4m3, 16, K, Accumulator>(table);
  add_form<E5m2, E5m2, 16, K, Accumulator>(table);
}

}  // namespace

void add_mma_rows(FormTable& table) {
  add_form<F16, F16, 16, 8, accumulator::F32>(table);
  add_form<F16, F16, 16, 8, accumulator::F16>(table);
  add_form<F16, F16, 16, 16, accumulator::F32>(table);
  add_form<F16, F16, 16, 16, accumulator::F16>(table);
  add_form<Bf16, Bf16, 16, 8, accumulator::F32>(table);
  add_form<Bf16, Bf16, 16, 16, accumulator::F32>(table);
  add_form<Tf32, Tf32, 16, 4, accumulator::F32>(table);
  add_form<Tf32, Tf32, 16, 8, accumulator::F32>(table);
  add_float8_forms<16>(table);
  add_float8_forms<32>(table);
  add_integer_forms<S8, U8, 8, 16>(table);
  add_integer_forms<S8, U8, 16, 16>(table);
  add_integer_forms<S8, U8, 16, 32>(table);
  add_integer_forms<S4, U4, 8, 32>(table);
  add_integer_forms<S4, U4, 16, 32>(table);
  add_integer_forms<S4, U4, 16, 64>(table);
}

}  // namespace vgpu::matrix
