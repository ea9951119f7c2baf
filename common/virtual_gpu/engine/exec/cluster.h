// Blocks of a cluster: they run together, meet at a barrier of their own and reach each other's shared
// memory.
//
// An address of another block's shared memory has the block's rank + 1 in its upper 8 bits. Without it, it
// means the block's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "checks/cluster_race.h"
#include "checks/finding.h"
#include "exec/op.h"

namespace vgpu {

struct Block;
struct KernelCode;
struct Launch;
struct LaunchRequest;
struct Mbarrier;
struct OrderClock;
struct Warp;
struct Worker;

constexpr uint32_t kRankShift = 24;
constexpr uint32_t kClusterBarrier = 0x100;  // Split::key of threads that wait for their cluster
inline uint32_t rank_bits(uint32_t address) {
  return address >> kRankShift;
}
inline uint32_t in_block(uint32_t address) {
  return address & ((1u << kRankShift) - 1);
}

struct Cluster {
  std::vector<Block*> blocks;  // by rank
  std::vector<bool> done;      // all their threads have exited
  uint32_t arrived = 0;        // threads at the barrier, in its current round
  uint32_t round = 1;
  ClusterOrder order;
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

// Serves the lanes whose addresses lie in other blocks of the cluster: `serve` runs with that block's shared
// memory in place of this one's. Returns the other lanes; `own` has their addresses.
using ServeShared = std::function<void(const uint32_t* address, Mask lanes)>;
Mask serve_other_blocks(Warp& w, const Op& op, const uint32_t* address, Mask mask, uint32_t bytes,
                        bool writes, uint32_t* own, const ServeShared& serve);

void map_to_block(Warp&, const Op&);     // mapa: src[0] an address, src[1] a rank; op.flags: kAddress64
void rank_of_address(Warp&, const Op&);  // getctarank
// barrier.cluster.arrive and barrier.cluster.wait, which end a block of code.
void arrive_in_cluster(Warp& w, int split, const Op& op);
void wait_for_cluster(Warp& w, int split, const Op& op);
// After threads have exited.
void check_cluster_barrier(Block& b);
bool waits_for_cluster(const Block& b);

// Blocks in a cluster of this launch, in each dimension: from the launch or from the kernel.
Dim3 cluster_size(const LaunchRequest& request, const KernelCode& kernel);
// Runs all blocks of a cluster to their end, in turns. `blocks` is kept from one cluster to the next.
void run_cluster(Launch& launch, Worker& worker, uint64_t number,
                 std::vector<std::unique_ptr<Block>>& blocks);

}  // namespace vgpu
