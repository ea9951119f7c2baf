// Blocks of a cluster: they run together, meet at a barrier of their own and reach each other's shared
// memory.
//
// An address of another block's shared memory has the block's rank + 1 in its upper 8 bits. Without it, it
// means the block's own.
#pragma once

#include <cstdint>
#include <vector>

#include "checks/finding.h"
#include "exec/op.h"

namespace vgpu {

struct Block;
struct OrderClock;
struct Mbarrier;
struct Warp;

constexpr uint32_t kRankShift = 24;
inline uint32_t rank_bits(uint32_t address) {
  return address >> kRankShift;
}
inline uint32_t in_block(uint32_t address) {
  return address & ((1u << kRankShift) - 1);
}

struct Cluster {
  Dim3 size;
  std::vector<Block*> blocks;  // by rank
  std::vector<bool> done;      // all their threads have exited
  uint32_t arrived = 0;        // threads at the barrier, in its current round
  uint32_t round = 0;
};

struct Remote {
  Block* block = nullptr;  // none: there is a finding
  uint32_t address = 0;    // in that block
};

// Where a lane's shared::cluster address points, if it may touch `bytes` bytes there.
Remote resolve_shared(Warp& w, const Op& op, int lane, uint32_t address, uint32_t bytes);
// A barrier of another block of the cluster.
Mbarrier* remote_mbarrier(Warp& w, const Op& op, int lane, Block& at, uint32_t address);
// Blocks keep time apart: what a thread of another block did counts as done by the first thread there.
void release_to_remote(Warp& w, Mask lanes, Block& at, OrderClock& clock);

}  // namespace vgpu
