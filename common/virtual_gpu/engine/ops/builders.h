// The parts the opcode tables are put together from, one a subject and a source file.
#pragma once

#include "ops/form_table.h"

namespace vgpu::ops {

void add_integer_arithmetic(FormTable& t);
void add_integer_products(FormTable& t);
void add_integer_division(FormTable& t);
void add_integer_carry(FormTable& t);
void add_integer_packed(FormTable& t);

void add_float_arithmetic(FormTable& t);
void add_float_directed_rounding(FormTable& t);
void add_float_extrema(FormTable& t);
void add_float_signs(FormTable& t);

void add_half_arithmetic(FormTable& t);
void add_bfloat_arithmetic(FormTable& t);
void add_half_signs(FormTable& t);

void add_integer_conversions(FormTable& t);
void add_conversions_to_integer(FormTable& t);
void add_conversions_to_small_integer(FormTable& t);
void add_conversions_from_integer(FormTable& t);
void add_narrowing_conversions(FormTable& t);
void add_widening_conversions(FormTable& t);
void add_integral_conversions(FormTable& t);
void add_packed_conversions(FormTable& t);

void add_special_functions(FormTable& t);
void add_special_functions_of_halves(FormTable& t);

void add_moves(FormTable& t);
void add_selections(FormTable& t);

void add_integer_comparisons(FormTable& t);
void add_float_comparisons(FormTable& t);
void add_half_comparisons(FormTable& t);

void add_logic(FormTable& t);
void add_shifts(FormTable& t);
void add_bit_fields(FormTable& t);
void add_bit_counts(FormTable& t);
void add_byte_permutes(FormTable& t);

}  // namespace vgpu::ops
