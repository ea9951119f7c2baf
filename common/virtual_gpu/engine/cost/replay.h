// One SM, its resident blocks and its share of the memory system, replaying traces: four schedulers that
// issue in order for each warp, pipes, shared memory, queues to L2 and DRAM, and blocks that arrive at the
// device's dispatch rate.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cost/plan.h"
#include "cost/timeline.h"
#include "cost/trace.h"

namespace vgpu {

// The memory system as one SM sees it.
struct MemoryShare {
  double dram_latency = 767, l2_latency = 262;  // cycles
  double l2_first_latency = 262;                // of what this SM has not read before, but L2 holds
  double dram_bytes_per_cycle = 16;             // this SM's share
  double l2_bytes_per_cycle = 21;
  double bulk_weight = 1;        // of a sector that the copy engine loads, for L2
  double dram_chance = 1;        // that a sector which misses L1 is not in L2 either
  double load_dram_bytes = 32;   // that DRAM moves for a load's sector that misses L1
  double store_dram_bytes = 32;  // … for a stored sector
};

// A basic block: its instructions, and about the cycles until the last of them is done.
struct BlockWeight {
  double instructions = 0, cycles = 0;
  void add(const BlockWeight& other, double times = 1) {
    instructions += times * other.instructions;
    cycles += times * other.cycles;
  }
};

struct ReplayRequest {
  const KernelPlan* plan = nullptr;
  std::vector<const BlockTrace*> traces;  // blocks take them in turn
  int resident = 1;                       // blocks at once
  uint64_t blocks = 1;
  // Long blocks are replayed in part: so many rounds of the loop that this basic block belongs to, or, where
  // there is none, a share of each warp's events.
  uint32_t loop_block = ~0u;
  uint32_t loop_rounds = 0;
  double share_of_trace = 1;
  double dispatch_cycles = 0;  // between two blocks that this SM gets
  MemoryShare memory;
  const std::vector<BlockWeight>* weights = nullptr;  // by basic block
  Timeline* timeline = nullptr;                       // filled for the first warps of the first block
};

// What was used, in cycles of the SM (of one of its four schedulers for issue and pipes).
struct Usage {
  double issue = 0, shared = 0, lsu = 0, l2 = 0, dram = 0, copies = 0;
  std::array<double, kPipes> pipes{};
};

struct ReplayResult {
  double cycles = 0;
  double middle_cycles = 0;  // when half of the rounds, or of the events, were behind all warps
  int round_trips = 0;       // dependent trips to L2 or DRAM on the longest chain of a warp
  uint64_t instructions = 0;
  BlockWeight weight;  // of the basic blocks that were entered
  Usage usage;
};

ReplayResult replay(const ReplayRequest& request);

}  // namespace vgpu
