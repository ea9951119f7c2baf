// The cost model's view of a kernel's code: each basic block as the hardware would issue it. Where the
// machine code is known, in its order and with its stalls. Elsewhere a stand-in for ptxas: within a block
// independent loads move up, and neighbouring loads of shared memory become one.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/machine.h"
#include "cost/trace.h"

namespace vgpu {

struct Code;
struct KernelCode;

enum class PlanKind : uint8_t {
  kPlain,
  kGlobalLoad,
  kGlobalStore,
  kGlobalAtomic,
  kAsyncCopy,
  kAsyncCommit,
  kAsyncWait,  // of all but so many groups
  kSharedLoad,
  kSharedStore,
  kSharedAtomic,
  kLocalLoad,
  kLocalStore,
  kConstantLoad,  // of a parameter beyond the first ones, or of a constant
  kBarrier,
  kMeet,       // a named barrier, counted: arrives, and waits
  kArrive,     // at a named barrier or an mbarrier
  kPhaseWait,  // for a phase of an mbarrier
  kBulkLoad,   // by the copy engine; arrives at an mbarrier
  kBulkStore,
  kBulkCommit,
  kBulkWait,       // of all but so many groups
  kProduct,        // wgmma
  kProductCommit,  // of products since the last one
  kProductWait,    // of all but so many groups
  kFence,
};
bool has_event(PlanKind kind);

struct PlannedOp {
  PlanKind kind = PlanKind::kPlain;
  bool waits_for_nobody = false;  // a barrier that the whole block need not reach
  bool commits_first = false;     // kAsyncWait: for what has not been committed too
  bool fetches_map = false;       // of a tensor: a copy, or a prefetch of the map
  MachineCost cost;
  float stall = 0;                 // cycles that the warp waits after it, at least
  uint32_t op = 0;                 // Op::index
  uint32_t ordinal = 0;            // among the memory ops of its planned block, in the order of the source
  uint32_t merged = 0;             // further loads that travel with it
  uint32_t groups = 0;             // of a wait: that may stay in flight
  float shared_passes = 0;         // kProduct: over shared memory, for its operands there
  uint32_t values = 0;             // first in PlannedBlock::values
  uint32_t written = 0, read = 0;  // so many values, the written ones first
};

struct PlannedBlock {
  std::vector<PlannedOp> ops;
  std::vector<uint32_t> values;  // numbered through the kernel
  uint32_t memory_ops = 0;
};

struct KernelPlan {
  // `bits`: by op, the bits of its shared addresses, where known; loads merge only when these are aligned.
  KernelPlan(const KernelCode& kernel, const std::vector<uint32_t>& bits, double tensor_cycles);

  // A block further on in a straight piece of code; one that only some lanes run is `optional`.
  struct Link {
    uint32_t block = 0;  // in the kernel's numbering
    bool optional = false;
  };
  struct Entry {
    PlannedBlock alone;
    PlannedBlock chain;       // with the blocks that follow it
    std::vector<Link> links;  // those
    PlannedBlock unrolled;    // `rounds` rounds of a loop of one block; empty when it is none
    uint32_t rounds = 0;
  };
  static constexpr uint32_t kUnroll = 4;  // rounds, where the machine code is not known
  std::vector<Entry> blocks;              // by the kernel's numbering of basic blocks
  uint32_t value_count = 0;
};

// Orders the ops of one straight piece of code. In schedule.cpp.
struct ScheduleInput {
  std::vector<PlannedOp> ops;
  std::vector<uint32_t> values;
  struct Memory {
    bool reads_global = false, writes_global = false, reads_shared = false, writes_shared = false;
    bool local = false, fence = false, read_only = false;
    uint32_t base = ~0u;  // value that holds the address
    int64_t offset = 0;
    uint32_t bytes = 0;
  };
  std::vector<Memory> memory;  // beside ops
  bool last_stays = false;     // the last op is a branch
  uint32_t rounds = 1;         // of one loop, one after the other
};
PlannedBlock schedule(ScheduleInput input);

// Joins loads of neighbouring words from one base into wide ones. In merge.cpp.
void merge_shared_loads(ScheduleInput& input, const std::vector<uint32_t>& bits);

}  // namespace vgpu
