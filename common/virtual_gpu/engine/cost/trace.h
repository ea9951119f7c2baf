// What a few blocks of a launch did, in order: the basic blocks that each warp ran and what every memory
// instruction asked of the memory system. The cost model replays these traces.
//
// Which blocks are sampled depends on the size of the grid alone, and a trace belongs to its block: any
// number of CPU threads leaves the same traces behind.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/profile.h"
#include "exec/op.h"
#include "exec/sectors.h"

namespace vgpu {

struct KernelCode;

enum class TraceAccess : uint8_t { kLoad, kStore, kAtomic, kAsync };

struct MemoryEvent {
  uint32_t op = 0;            // Op::index
  uint16_t sectors = 0;       // 32 bytes each; local memory too
  uint16_t lines = 0;         // 128 bytes each: the unit of a tag look-up
  uint16_t misses = 0;        // of the sectors, those that L1 cannot hold from an earlier load
  uint16_t fresh = 0;         // of those, sectors of 64-byte pairs that the block has not asked for before
  uint16_t wavefronts = 0;    // of shared memory
  uint16_t parts = 0;         // of stores: sectors that got some of their bytes only
  uint16_t turns = 0;         // of atomics: for each line, as many as lanes meet in one word
  uint16_t sector_turns = 0;  // the same, times the sectors of the line
};

struct BlockEvent {
  uint32_t block = 0;   // basic block, numbered through the kernel
  uint32_t memory = 0;  // its first memory event
};

struct WarpTrace {
  std::vector<BlockEvent> blocks;
  std::vector<MemoryEvent> memory;
  bool cut = false;  // it went on longer than traces are kept
};

// Sectors by when they were last touched; open addressing, so that a look-up costs a few nanoseconds.
class SectorClock {
 public:
  // Touches the sector and says how many others were touched since it was last; ~0 when it never was.
  uint64_t touch(uint64_t sector);
  uint64_t distinct() const { return used_; }

 private:
  struct Entry {
    uint64_t sector = ~0ull;
    uint64_t when = 0;
  };
  void grow();
  std::vector<Entry> entries_;
  uint64_t used_ = 0, now_ = 0;
};

struct BlockTrace {
  BlockTrace(uint32_t warps, uint64_t l1_capacity);

  // A warp enters a basic block of so many ops.
  void enter(uint32_t warp, uint32_t block, uint32_t ops) {
    instructions += ops;
    WarpTrace& w = warps[warp];
    if (w.blocks.size() + w.memory.size() >= most_events) {
      w.cut = true;
      return;
    }
    traced_instructions += ops;
    w.blocks.push_back({block, static_cast<uint32_t>(w.memory.size())});
  }
  void global(uint32_t warp, uint32_t op, const uint64_t* address, uint32_t bytes, Mask mask,
              TraceAccess how);
  void shared(uint32_t warp, uint32_t op, const uint32_t* address, Mask mask, int wavefronts);
  void local(uint32_t warp, uint32_t op, uint64_t sectors);

  std::vector<WarpTrace> warps;
  uint64_t instructions = 0, traced_instructions = 0;  // of all warps
  SectorClock loaded, loaded_pairs;                    // by plain loads and cp.async
  SectorClock updated, updated_pieces;                 // by atomics; pieces are what one slice of L2 keeps
  std::vector<uint32_t> address_bits;                  // by op: its lanes' shared addresses, or-ed together
  uint64_t l1_capacity = 0;                            // sectors, the block's share
  size_t most_events = 0;                              // a warp

 private:
  MemoryEvent* event_of(uint32_t warp, uint32_t op);
};

struct LaunchSample {
  LaunchSample(KernelCode& kernel, uint64_t blocks, uint32_t warps, uint64_t l1_capacity, uint64_t seed);
  BlockTrace* trace_of(uint64_t linear) {
    for (size_t i = 0; i < linears.size(); ++i)
      if (linears[i] == linear) return traces[i].get();
    return nullptr;
  }

  KernelCode& kernel;
  std::shared_ptr<const SectorMap> loads, stores;  // of the whole launch
  std::vector<uint64_t> linears;                   // the sampled blocks
  std::vector<std::unique_ptr<BlockTrace>> traces;
};

// What a block may call its own of the L1 that its SM's resident blocks leave beside their shared memory.
uint64_t l1_sectors_per_block(const Profile& profile, uint64_t shared_bytes, int resident_blocks);

}  // namespace vgpu
