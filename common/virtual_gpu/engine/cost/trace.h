// What a block of a launch did, in order: the basic blocks that each warp ran and what every memory
// instruction asked of the memory system. The cost model replays these traces.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/op.h"

namespace vgpu {

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
  bool cut = false;  // it went on longer than traces are kept
  int64_t room = 0;  // for so many events more
  uint64_t instructions = 0, traced_instructions = 0;
  uint64_t asks = 0, traced_asks = 0;  // basic blocks in which it asked global memory for a value
  uint64_t asked_at = 0;               // `instructions` of the last of them
  uint64_t polled = 0;                 // the address that it looked at last to see whether others changed it
  std::vector<BlockEvent> blocks;
  std::vector<MemoryEvent> memory;

  // Whether it waits there: how often it looks says nothing about how long it would wait on a GPU.
  bool polls_again(uint64_t address) {
    const bool again = polled == address;
    polled = address;
    return again;
  }
  void asked() {
    if (asked_at == instructions) return;
    asked_at = instructions;
    ++asks;
    traced_asks += !cut;
  }
  // About the cycles that it takes for itself.
  uint64_t weight() const;
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
  // A trace that costs next to nothing, so that every block can have one: shorter, and without what L1 and
  // the parts of sectors have to do with it.
  static BlockTrace outline_of(uint32_t warps);
  void clear();

  // About the cycles that the block takes for itself: how blocks of one launch compare.
  uint64_t weight() const;
  const WarpTrace& longest_warp() const;

  // A warp enters a basic block of so many ops.
  void enter(uint32_t warp, uint32_t block, uint32_t ops) {
    instructions += ops;
    WarpTrace& w = warps[warp];
    w.instructions += ops;
    if (!entered.empty()) ++entered[block];
    if (w.cut) return;
    if (w.room <= 0) {
      w.cut = true;
      return;
    }
    --w.room;
    traced_instructions += ops;
    w.traced_instructions += ops;
    w.blocks.push_back({block, static_cast<uint32_t>(w.memory.size())});
  }
  void global(uint32_t warp, uint32_t op, const uint64_t* address, uint32_t bytes, Mask mask,
              TraceAccess how);
  // The same for an outline.
  void global_outline(uint32_t warp, uint32_t op, uint64_t sectors, uint64_t lines);
  void shared(uint32_t warp, uint32_t op, const uint32_t* address, Mask mask, int wavefronts);
  void local(uint32_t warp, uint32_t op, uint64_t sectors);

  std::vector<WarpTrace> warps;
  std::vector<uint64_t>
      entered;  // by basic block: how often, also where the trace is cut; an outline has none
  bool is_outline = false;
  uint64_t instructions = 0, traced_instructions = 0;  // of all warps
  SectorClock loaded, loaded_pairs;                    // by plain loads and cp.async
  SectorClock updated, updated_pieces;                 // by atomics; pieces are what one slice of L2 keeps
  std::vector<uint32_t> address_bits;                  // by op: its lanes' shared addresses, or-ed together
  uint64_t l1_capacity = 0;                            // sectors, the block's share
  int64_t most_events = 0;                             // a warp

 private:
  MemoryEvent* event_of(uint32_t warp, uint32_t op);
};

}  // namespace vgpu
