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

enum class SharedAtomic : uint8_t;
enum class WarpSync : uint8_t;
enum class BarrierOp : uint8_t;
struct WmmaLayout;
struct MbarrierDetail;
struct BulkDetail;
struct WgmmaDetail;

// What an op says beside its operands, by kind of instruction. Packed, so that an op keeps its size: a warp
// reads one for every instruction.
struct [[gnu::packed]] TableDetail {  // rows of the opcode tables
  uint64_t imm;                       // what compile-time constant operands say (lut, mode)
  uint8_t issues;                     // of an mma: how often the hardware issues one
};
struct [[gnu::packed]] AccessDetail {  // ld and st
  uint64_t offset;                     // added to the address
  uint8_t bytes;                       // of one element
  uint8_t vec;                         // elements per lane
  uint8_t reg_bytes;                   // width of the registers that receive or give them
};
struct [[gnu::packed]] AtomicDetail {
  uint64_t offset;
  uint8_t bytes;
  SharedAtomic shared;  // how shared memory serves it
  bool commutes;        // its order does not show in memory
};
enum class CopySize : uint8_t { kWhole, kRegister, kUnlessPredicate };
struct [[gnu::packed]] CopyDetail {  // cp.async
  uint32_t shared_offset;
  int32_t global_offset;
  uint8_t bytes;
  CopySize size;     // what src[2] says: nothing, the bytes to copy, or that all are zeros
  bool bypasses_l1;  // .cg
};
struct [[gnu::packed]] MatrixDetail {  // ldmatrix and stmatrix
  uint64_t offset;
  uint8_t count;
  bool transposed;
};
struct [[gnu::packed]] BarrierDetail {
  BarrierOp what;
  bool counted;  // src[1] has the number of threads; else the whole block is meant
  bool relaxed;  // an arrival at the cluster's barrier that releases nothing
};
struct [[gnu::packed]] WarpSyncDetail {
  WarpSync what;
  bool has_second;  // dst2 is wanted
};

// Every register, immediate and special register lives in the warp's register file as a lane array:
// 32 x u16, u32 or u64, or one u32 lane mask for a predicate. Operands are byte offsets into that file.
struct Op {
  OpFn fn[2] = {nullptr, nullptr};  // [0] when some lanes are off, [1] when all 32 are on
  uint32_t dst = 0;
  uint32_t dst2 = 0;  // second result: %p|%q, carry
  uint32_t src[4] = {0, 0, 0, 0};
  const uint32_t* list = nullptr;  // operands of wide forms (mma, vectors), in the order of the signature
  union [[gnu::packed]] {
    TableDetail table = {0, 1};
    AccessDetail access;  // its offset, which comes first, is also that of an atomic and of an ldmatrix
    AtomicDetail atomic;
    CopyDetail copy;
    MatrixDetail matrix;
    BarrierDetail barrier;
    WarpSyncDetail warp_sync;
    const WmmaLayout* wmma;  // wmma.load, wmma.store
    const MbarrierDetail* mbarrier;
    const BulkDetail* bulk;
    const WgmmaDetail* wgmma;
    uint64_t groups;   // cp.async.wait_group: how many may stay in flight
    uint64_t window;   // cvta: where the space begins among generic addresses
    uint64_t target;   // of a branch: a basic block
    uint64_t targets;  // of an indexed branch: how many `list` has
    uint64_t call;     // index into Code::calls
  };
  uint8_t guard_negated = 0;
  InstrClass cls = InstrClass::kOther;
  uint8_t control = 0;  // a Control value: 0 for ops that simply run
  uint8_t space = 0;    // a Space value
  uint8_t flags = 0;    // MemFlags
  uint32_t guard = 0;   // offset of the guard predicate, 0 = none
  uint32_t index = 0;   // of this op in its kernel: findings, counters, source place
};
static_assert(sizeof(Op) == 72);

// A row of an opcode table. `signature` lists the operands in PTX order, separated by blanks:
//   p        predicate (a lane mask); a negated source is resolved before the op runs
//   p|p      the pair form %p|%q (the second may be absent or the sink; then Op::dst2 is a scratch slot)
//   16 32 64 a register or immediate of that width, one value per lane
//   #        a compile-time constant: goes to TableDetail::imm (several: packed 8 bits each, first lowest)
//   32x4     a vector operand {a,b,c,d} of that many registers: all operands then come in Op::list,
//            in order, scalars included (destination first), and `dst`/`src` are unused
// The first operand is the destination; a leading '>' marks a form without a destination.
struct OpForm {
  const char* name;  // the opcode with all its modifiers, as PTX writes it
  const char* signature;
  OpFn masked;
  OpFn full;
  InstrClass cls;
  uint64_t imm =
      0;  // TableDetail::imm of a form without '#': what a function needs to know that serves several rows
};

}  // namespace vgpu
