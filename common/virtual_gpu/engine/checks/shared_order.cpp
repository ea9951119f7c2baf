// What orders accesses to shared memory: flags that are acquired and released, meetings of a warp and of a
// block.
#include <algorithm>

#include "checks/report.h"
#include "checks/shared_check.h"
#include "exec/flags.h"

namespace vgpu {

void order_through(Warp& w, uint64_t address, bool acquires, bool releases, bool within_warp) {
  Block& b = *w.block;
  std::vector<uint32_t>& seen = b.released[address];
  uint32_t* known = b.known[w.id];
  if (acquires && !seen.empty())
    for (uint32_t s = 0; s < kLanes; ++s)
      if (within_warp || s != w.id) known[s] = std::max(known[s], seen[s]);
  constexpr uint32_t kProducts = kLanes, kBlocks = kProducts + kLanes / kWarpsOfGroup;
  if (acquires && seen.size() > kLanes && b.unit) {
    for (uint32_t i = kProducts; i < kBlocks; ++i)
      b.unit->learn(w.id, kProductReader + i - kProducts, seen[i]);
    BlockTicks& blocks = b.unit->blocks[w.id];
    for (uint32_t i = 0; i < blocks.size(); ++i) blocks[i] = std::max(blocks[i], seen[kBlocks + i]);
  }
  if (!releases) return;
  seen.assign(known, known + kLanes);
  seen[w.id] = b.tick++;
  if (!b.unit || (b.unit->products_over.empty() && b.cluster == nullptr)) return;
  // Behind the warps: what it knows of the products of each warpgroup, and of other blocks.
  seen.resize(kBlocks + kMostBlocksOfCluster, 0);
  for (const auto& [thread, tick] : b.unit->threads[w.id])
    if (thread >= kProductReader) seen[kProducts + thread - kProductReader] = tick;
  std::ranges::copy(b.unit->blocks[w.id], seen.begin() + kBlocks);
}

void meet_in_warp(Warp& w, Mask lanes) {
  Block& b = *w.block;
  ++b.tick;
  if (lanes == w.live()) {
    w.sync_tick = b.tick;
    w.lanes_met_apart = false;
    return;
  }
  w.lanes_met_apart = true;
  for (Mask m = lanes; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    w.met[lane] = b.tick;
    w.met_with[lane] = lanes;
  }
}

void meet_in_block(Block& b, uint32_t warps, bool everyone) {
  ++b.tick;
  if (b.unit) b.unit->meet(warps, everyone);
  if (everyone) {
    b.full_tick = b.tick;
    return;
  }
  uint32_t joint[kLanes] = {};
  for (uint32_t m = warps; m != 0; m &= m - 1) {
    const int s = std::countr_zero(m);
    for (int i = 0; i < kLanes; ++i) joint[i] = std::max(joint[i], b.known[s][i]);
    joint[s] = b.tick - 1;
  }
  // A warp's own accesses before the barrier are known to the others only through the barrier itself.
  for (uint32_t m = warps; m != 0; m &= m - 1) joint[std::countr_zero(m)] = b.tick - 1;
  for (uint32_t m = warps; m != 0; m &= m - 1) {
    const int wid = std::countr_zero(m);
    std::copy(joint, joint + kLanes, b.known[wid]);
    b.warps[static_cast<size_t>(wid)].sync_tick = b.tick;
  }
}

}  // namespace vgpu
