// Races between blocks of a cluster in distributed shared memory. A block counts as a whole: what one of its
// threads releases covers what all of them did before.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exec/op.h"

namespace vgpu {

struct Block;
struct Cluster;
struct Warp;
enum class SharedUse : uint8_t;

// Who touched a word of a block's shared memory from another block, the latest of each kind.
struct RemoteUse {
  uint32_t tick = 0, who = 0;  // of the block that did it; tick 0: nobody
  uint32_t rank = 0;           // of that block
  uint32_t owner_tick = 0;     // of the block whose memory it is
};
struct RemoteUses {
  RemoteUse write, read;
};

struct ClusterOrder {
  std::vector<std::vector<uint32_t>> known;  // known[a][b]: a has seen what b did up to this tick
  std::vector<std::unordered_map<uint32_t, RemoteUses>> uses;  // by owner, by word

  explicit ClusterOrder(size_t blocks = 0) : known(blocks, std::vector<uint32_t>(blocks, 0)), uses(blocks) {}
};

// What `from` did until now comes before what `to` does from now on.
void order_blocks(Block& from, Block& to);
// The same, where it is not known which warp of `to` will see it: all of them are taken to.
void order_whole_blocks(Block& from, Block& to);
// The same for all blocks of its cluster, or from one to all others.
void order_all_blocks(Cluster& cluster);
void publish_to_cluster(Block& from);

// A lane of this warp touches memory of `owner`, another block of the cluster.
void check_remote_use(Warp& w, const Op& op, int lane, Block& owner, uint32_t address, uint32_t bytes,
                      SharedUse use);
// Lanes touch their own block's memory, which other blocks may have used.
void check_own_use(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask, SharedUse use,
                   bool synchronises);
// Whether the write that left this tick at a word came from another block.
bool written_by_other_block(const Block& b, uint32_t word, uint32_t tick);
// Whether other blocks have touched this block's memory since the cluster last met.
bool used_by_other_blocks(const Block& b);

}  // namespace vgpu
