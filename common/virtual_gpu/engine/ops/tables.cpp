// Puts the opcode tables together from their parts, on first use.
#include "ops/tables.h"

#include "ops/builders.h"

namespace vgpu {
namespace {

using Part = void (*)(FormTable&);

// One table for each list of parts.
template <Part... kParts>
std::span<const OpForm> built_once() {
  static const FormTable table = [] {
    FormTable t;
    (kParts(t), ...);
    return t;
  }();
  return table.rows();
}

}  // namespace

std::span<const OpForm> integer_forms() {
  return built_once<ops::add_integer_arithmetic, ops::add_integer_products, ops::add_integer_division,
                    ops::add_integer_carry, ops::add_integer_packed>();
}

std::span<const OpForm> float_forms() {
  return built_once<ops::add_float_arithmetic, ops::add_float_directed_rounding, ops::add_float_extrema,
                    ops::add_float_signs>();
}

std::span<const OpForm> half_forms() {
  return built_once<ops::add_half_arithmetic, ops::add_bfloat_arithmetic, ops::add_half_signs>();
}

std::span<const OpForm> convert_forms() {
  return built_once<ops::add_integer_conversions, ops::add_conversions_to_integer,
                    ops::add_conversions_to_small_integer, ops::add_conversions_from_integer,
                    ops::add_narrowing_conversions, ops::add_widening_conversions,
                    ops::add_integral_conversions, ops::add_packed_conversions>();
}

std::span<const OpForm> compare_forms() {
  return built_once<ops::add_integer_comparisons, ops::add_float_comparisons, ops::add_half_comparisons>();
}

std::span<const OpForm> bit_forms() {
  return built_once<ops::add_logic, ops::add_shifts, ops::add_bit_fields, ops::add_bit_counts,
                    ops::add_byte_permutes>();
}

std::span<const OpForm> special_function_forms() {
  return built_once<ops::add_special_functions, ops::add_special_functions_of_halves>();
}

std::span<const OpForm> move_forms() {
  return built_once<ops::add_moves, ops::add_selections>();
}

}  // namespace vgpu
