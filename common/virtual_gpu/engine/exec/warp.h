// A warp: 32 lanes, split by divergence into groups that run on their own and meet again at joins.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/code.h"
#include "exec/op.h"
#include "exec/undefined.h"

namespace vgpu {

struct Block;
struct Warp;

// One activation of a function. Lanes of several splits may share it; each touches its own lanes only.
struct Frame {
  uint8_t* regs = nullptr;
  const Code* code = nullptr;
  Frame* caller = nullptr;
  const CallSite* site = nullptr;  // where the caller goes on: its param areas
  uint32_t local_base = 0;
  uint32_t depth = 0;
  Mask lanes = 0;  // that have not returned; the frame is recycled when none is left
};

// Where the two sides of a divergent branch, or the lanes of a call, come together again.
struct Join {
  Frame* frame = nullptr;
  uint32_t block = 0;
  Mask expected = 0, arrived = 0;
  int parent = -1;
  bool used = false;
};

enum class SplitState : uint8_t { kFree, kReady, kAtBarrier, kAtWarpSync };

struct Split {
  SplitState state = SplitState::kFree;
  Mask mask = 0;
  uint32_t block = 0;  // next basic block to run; while waiting: the one after the control op
  Frame* frame = nullptr;
  int join = -1;
  const Op* waiting = nullptr;  // the barrier or warp-synchronous op it stands at
  uint32_t key = 0;             // barrier id, or membership mask of a warp-synchronous op
};

struct AsyncCopies;

struct Warp {
  uint8_t* regs = nullptr;      // register file of the running frame; 64-byte aligned
  Mask exec = 0;                // lanes on for the operation at hand: the split's lanes and the guard
  const Op* run_end = nullptr;  // where the run of operations at hand ends; nullptr: after this one
  Block* block = nullptr;
  Mask exists = 0;  // lanes that the block has at all
  Mask exited = 0;
  uint32_t id = 0;               // in the block
  uint32_t sync_tick = 0;        // race check: when all its lanes last met
  bool lanes_met_apart = false;  // some __syncwarp named only part of the warp: look at `met`
  uint32_t met[kLanes] = {};     // per lane: when it last met others …
  Mask met_with[kLanes] = {};    // … and whom
  uint64_t instructions = 0;
  uint64_t matrix_instructions = 0;  // ever: what lies between two moments is what they differ by
  uint64_t global_stores = 0;        // the same
  uint32_t polls = 0;                // since it last made way for others
  uint64_t clock_reads = 0;
  int yields = 0;  // how often it made way while lanes of it waited at joins
  std::vector<Split> splits;
  std::vector<Join> joins;
  int ready = 0;  // splits in state kReady
  int current = -1;
  AsyncCopies* async = nullptr;
  UndefinedRegisters undefined;
  std::vector<Frame*> frames;  // all frames ever made, reused
  Mask live() const { return exists & ~exited; }
};

}  // namespace vgpu
