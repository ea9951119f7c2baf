// One lowered instruction and the table row it came from.
#pragma once

#include <cstdint>

namespace vgpu {

constexpr int kLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;
using Mask = uint32_t;

struct Warp;
struct Op;
using OpFn = void (*)(Warp&, const Op&);

enum class InstrClass : uint8_t {
#define INSTRUCTION_CLASS(enumerator, name) enumerator,
#include "exec/instruction_classes.def"
  kCount,
};

// Every register, immediate and special register lives in the warp's register file as a lane array:
// 32 x u16, u32 or u64, or one u32 lane mask for a predicate. Operands are byte offsets into that file.
struct Op {
  OpFn fn[2] = {nullptr, nullptr};  // [0] when some lanes are off, [1] when all 32 are on
  uint32_t dst = 0;
  uint32_t dst2 = 0;  // second result: %p|%q, carry
  uint32_t src[4] = {0, 0, 0, 0};
  const uint32_t* list = nullptr;  // operands of wide forms (mma, vectors), in the order of the signature
  uint64_t imm = 0;                // what a compile-time constant operand says (lut, mode, offset)
  uint32_t guard = 0;              // offset of the guard predicate, 0 = none
  uint32_t index = 0;              // of this op in its kernel: findings, counters, source place
  uint8_t guard_negated = 0;
  InstrClass cls = InstrClass::kOther;
  uint8_t control = 0;    // a Control value: 0 for ops that simply run
  uint8_t bytes = 0;      // memory access: bytes of one element
  uint8_t vec = 1;        // elements a lane
  uint8_t reg_bytes = 4;  // width of the registers that receive or give them
  uint8_t space = 0;      // a Space value
  uint8_t flags = 0;      // MemFlags
};

// A row of an opcode table. `signature` lists the operands in PTX order, separated by blanks:
//   p        predicate (a lane mask); a negated source is resolved before the op runs
//   p|p      the pair form %p|%q (the second may be absent or the sink; then Op::dst2 is a scratch slot)
//   16 32 64 a register or immediate of that width, one value a lane
//   #        a compile-time constant: goes to Op::imm (several: packed 8 bits each, first lowest)
//   32x4     a vector operand {a,b,c,d} of that many registers: all operands then come in Op::list,
//            in order, scalars included (destination first), and `dst`/`src` are unused
// The first operand is the destination; a leading '>' marks a form without a destination.
struct OpForm {
  const char* name;  // the opcode with all its modifiers, as PTX writes it
  const char* signature;
  OpFn masked;
  OpFn full;
  InstrClass cls;
  uint64_t imm = 0;  // Op::imm of a form without '#': what a function needs to know that serves several rows
};

}  // namespace vgpu
