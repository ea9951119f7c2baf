// A lowered function: basic blocks of ops, the layout of its register file, and where it came from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exec/op.h"
#include "ptx/ast.h"

namespace vgpu {

// What ends a basic block. Everything else falls through to the next block.
enum class Control : uint8_t {
  kNone,
  kBranch,
  kBranchIndex,  // list: target blocks, src[0]: index register
  kReturn,       // of a function; at kernel level the same as exit
  kExit,
  kCall,
  kBarrier,   // bar.sync, bar.red, bar.arrive
  kWarpSync,  // shuffles, votes, __syncwarp: may wait for other lanes of the warp
  kTrap,
  kProductWait,  // wgmma.wait_group: may wait for other warps of the warpgroup
};

enum MemFlags : uint8_t {
  kSigned = 1,     // sign-extend to the register
  kAddress64 = 2,  // the address register is 64 bits wide
  kPolls = 4,      // volatile, relaxed, acquire: others may write it meanwhile
  kResultUnused = 8,
  kReleases = 16,        // release or volatile store
  kPublishes = 32,       // release for the whole device: what came before is visible to whoever sees this
  kStoresConstant = 64,  // the code spells the value out
};

constexpr uint32_t kNoBlock = ~0u;

struct BasicBlock {
  uint32_t begin = 0, end = 0;     // ops; the last one may be a control op
  uint32_t reconverge = kNoBlock;  // immediate post-dominator
  bool has_control = false;
};

// A lane array that is filled before the code runs.
struct ConstantSlot {
  uint32_t offset;
  uint8_t bytes;  // per lane: 2, 4 or 8; 1 marks a predicate constant (a mask)
  uint64_t value;
};

enum class Special : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNWarpId,
  kSmId,
  kNSmId,
  kGridId,
  kLaneMaskEq,
  kLaneMaskLt,
  kLaneMaskLe,
  kLaneMaskGt,
  kLaneMaskGe,
  kDynamicSmem,
  kTotalSmem,
  kAggrSmem,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterIdX,
  kClusterIdY,
  kClusterIdZ,
  kNClusterIdX,
  kNClusterIdY,
  kNClusterIdZ,
  kClusterRank,
  kClusterBlocks,
  kIsCluster,
  kGridWorkspaceLow,
  kGridWorkspaceHigh,  // where cooperative groups keep the barrier of a cooperative grid
  kLocalBase,          // address of this frame's local memory, 64 bits; `addend` is added
  kLocalBase32,
};

struct SpecialSlot {
  uint32_t offset;
  uint8_t bytes;
  Special what;
  uint64_t addend = 0;
};

// A .param variable of a call or of a .func: words of 32 lanes inside the register file.
struct ParamArea {
  uint32_t offset = 0;
  uint32_t bytes = 0;
};

struct Code;
struct CallSite {
  int callee = -1;           // function index in the module; -1: indirect through src[0]
  int builtin = 0;           // a Builtin value for vprintf and friends
  int runtime_function = 0;  // of kDeviceRuntime: which
  std::vector<ParamArea> arguments, returns;
};

enum Builtin : int { kNotBuiltin = 0, kVprintf, kAssertFail, kMalloc, kAlignedMalloc, kFree, kDeviceRuntime };

// What an op writes and reads, as values of the function: unlike places in the register file, they are not
// shared by others. `begin` is the first in Code::values; what it writes comes first, then what it reads.
struct OpValues {
  uint32_t begin = 0;
  uint16_t written = 0, read = 0;
};

// Where a value lies in the register file; 0 bytes per lane for a predicate.
struct ValuePlace {
  uint32_t offset = 0;
  uint8_t bytes = 0;
};

struct Code {
  std::string name;
  bool is_entry = false;
  std::vector<Op> ops;
  std::vector<BasicBlock> blocks;
  std::vector<std::vector<uint32_t>> lists;  // storage behind Op::list
  std::vector<OpValues> op_values;           // beside `ops`
  std::vector<uint32_t> values;
  uint32_t value_count = 0;
  std::vector<bool> predicates;                    // by value
  std::vector<ValuePlace> value_places;            // by value
  std::vector<std::vector<uint64_t>> live_values;  // per basic block: a bit for each value it may still read
  std::vector<CallSite> calls;
  std::vector<ParamArea> params, returns;  // of a .func
  std::vector<ConstantSlot> constants;
  std::vector<SpecialSlot> specials;
  uint32_t reg_bytes = 0;        // whole register file
  uint32_t registers_begin = 0;  // places of values begin here
  uint32_t const_begin = 0;      // constants lie in [const_begin, const_end)
  uint32_t const_end = 0;
  std::vector<uint8_t> const_image;
  std::vector<std::pair<uint32_t, uint32_t>> undefined;  // registers (offset, bytes) read before any write
  uint32_t local_bytes = 0;                              // exact; frames start at multiples of 16
  uint32_t first_index = 0;  // Op::index of ops[0]; indices are unique in the kernel
  uint32_t first_block = 0;  // likewise for basic blocks
  int live_registers = 0;    // most 32-bit values alive at once: the estimate of register use
};

// What a launch must know about the code reachable from a kernel before it runs it.
struct CodeTraits {
  bool orders_blocks = false;  // blocks may see each other's atomics or flags: run them in a fixed order
  bool mixes_atomics =
      false;               // of several kinds, whose order then matters even if nobody asks for the result
  bool uses_heap = false;  // malloc or free
  bool asks_for_work = false;  // it calls the runtime API of device code
  bool copies_bulk = false;    // between shared and device memory
  bool uses_fences = false;    // atomics and flags then order memory for the race check
};

}  // namespace vgpu
