// The traces of a launch: in full those of a few blocks, which stand for all, and in outline that of the
// heaviest of the others, which may take longer than all of them together.
//
// Which blocks are sampled depends on the size of the grid and the seed alone, a trace belongs to its block,
// and the heaviest is the heaviest in any order: any number of CPU threads leaves the same traces behind.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cost/trace.h"
#include "device/profile.h"
#include "exec/sectors.h"

namespace vgpu {

struct KernelCode;

struct LaunchSample {
  LaunchSample(KernelCode& kernel, uint64_t blocks, uint32_t warps, uint64_t l1_capacity, uint64_t seed);

  // Where a block that starts leaves its trace, until it has ended.
  BlockTrace& started(uint64_t linear);
  void ended(BlockTrace& trace, uint64_t linear);

  // The heaviest block, where it is heavier than all that were sampled; else null.
  const BlockTrace* heavier() const;

  KernelCode& kernel;
  std::shared_ptr<const SectorMap> loads, stores;  // of the whole launch
  std::vector<uint64_t> linears;                   // the sampled blocks
  std::vector<std::unique_ptr<BlockTrace>> traces;
  std::unique_ptr<BlockTrace> heaviest;  // of the others; null when there are none
  uint64_t heaviest_linear = 0, heaviest_weight = 0;
  uint64_t total_weight = 0;                    // of all blocks
  uint64_t polled_instructions = 0;             // of all blocks, in none of the traces
  std::vector<uint64_t> instructions, weights;  // of each block; empty where they are very many

 private:
  const uint32_t warps_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockTrace>> running_, spare_;  // outlines
};

// The outline with what it leaves out, as the sampled blocks have it, op by op. `least_missed` is the share
// of all sectors that no L1 can have kept: an op that no sampled block ran misses as often as that.
BlockTrace filled_in(const BlockTrace& outline, const LaunchSample& sample, double least_missed);

// What a block may call its own of the L1 that its SM's resident blocks leave beside their shared memory.
uint64_t l1_sectors_per_block(const Profile& profile, uint64_t shared_bytes, int resident_blocks);

}  // namespace vgpu
