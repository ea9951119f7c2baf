// The opcode tables. A row's name is the PTX opcode with its modifiers in the order of the PTX manual.
//
// Two things the signatures of OpForm need beyond their description there:
//   +c -c *c  at the end: the form writes, reads, or reads and writes the carry, a predicate. It is read from
//             Op::src[3] and written to Op::dst2.
//   NAME#D.S  cvt whose registers are wider than its types: D and S are the register widths in bits. An 8-bit
//             type has no register of its own width, so its rows always carry the suffix; a .b8 register is
//             kept in a 16-bit slot.
#pragma once

#include <span>

#include "exec/op.h"

namespace vgpu {

std::span<const OpForm> integer_forms();
std::span<const OpForm> float_forms();
std::span<const OpForm> half_forms();
std::span<const OpForm> convert_forms();
std::span<const OpForm> compare_forms();
std::span<const OpForm> bit_forms();
std::span<const OpForm> move_forms();
std::span<const OpForm> special_function_forms();

}  // namespace vgpu
