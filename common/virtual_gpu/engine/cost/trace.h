// What a block of a launch did, in order: the basic blocks that each warp ran and what every memory
// instruction asked of the memory system. The cost model replays these traces.
#pragma once

#include <cstdint>
#include <map>
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
  uint16_t barrier = 0;       // that it arrives at or waits for, BlockTrace's number; 0: none
  uint16_t phase = 0;         // of that barrier
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
  // A wait for a barrier's phase that was not over: which basic block asked, and what was there before it.
  struct FailedWait {
    uint32_t block = ~0u;
    size_t events = 0;
    uint64_t instructions = 0;
  } failed_wait;
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
    WarpTrace& w = warps[warp];
    if (w.failed_wait.block == block) [[unlikely]]
      forget_failed_wait(w);
    instructions += ops;
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
  // A piece of what a bulk copy moves between global and shared memory. One that loads misses L1.
  void bulk(uint32_t warp, uint32_t op, uint64_t address, uint64_t bytes, bool stores);

  // Barriers of the block that count: the named ones, and mbarriers by their shared address. What arrives at
  // a phase, and who waits until it is complete.
  static uint32_t named_barrier(uint32_t id) { return 1 + id; }
  static bool is_named(uint32_t barrier) { return barrier <= kNamedBarriers; }
  void new_mbarrier(uint32_t address);
  uint32_t mbarrier(uint32_t address) const;
  void arrives(uint32_t warp, uint32_t op, uint32_t barrier, uint32_t phase);
  void waited(uint32_t warp, uint32_t op, uint32_t barrier, uint32_t phase);
  // The op that runs now, in a basic block of so many ops, did not get what it asked for. When the warp comes
  // back to that block at once, it was polling: how often it asks says nothing about how long it would wait
  // on a GPU, and the trace keeps the last time alone.
  void failed_wait(uint32_t warp, uint32_t block, uint32_t ops);

  std::vector<WarpTrace> warps;
  std::vector<uint64_t>
      entered;  // by basic block: how often, also where the trace is cut; an outline has none
  bool is_outline = false;
  uint64_t instructions = 0, traced_instructions = 0;  // of all warps
  uint64_t polled_instructions = 0;                    // of rounds that are left out
  std::map<uint32_t, uint32_t> arrivals;               // at phases, by phase_key: events
  static constexpr uint32_t kNamedBarriers = 16;
  uint32_t named_phase[kNamedBarriers] = {};  // of the named barriers: phases that are over
  static uint32_t phase_key(uint32_t barrier, uint32_t phase) { return barrier << 16 | (phase & 0xffff); }
  SectorClock loaded, loaded_pairs;     // by plain loads and cp.async
  SectorClock updated, updated_pieces;  // by atomics; pieces are what one slice of L2 keeps
  std::vector<uint32_t> address_bits;   // by op: its lanes' shared addresses, or-ed together
  uint64_t l1_capacity = 0;             // sectors, the block's share
  int64_t most_events = 0;              // a warp

 private:
  MemoryEvent* event_of(uint32_t warp, uint32_t op);
  void forget_failed_wait(WarpTrace& w);

  std::map<uint32_t, uint32_t> mbarriers_;  // their numbers, by shared address
  uint32_t next_mbarrier_ = 0;
  uint64_t bulk_sector_ = 0;  // the last one of the bulk copy at hand
};

}  // namespace vgpu
