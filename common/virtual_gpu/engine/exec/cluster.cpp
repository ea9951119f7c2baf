#include "exec/cluster.h"

#include "checks/async_findings.h"
#include "checks/report.h"
#include "cuda_error.h"
#include "exec/access.h"

namespace vgpu {

Remote resolve_shared(Warp& w, const Op& op, int lane, uint32_t address, uint32_t bytes) {
  Block& b = *w.block;
  const uint32_t rank = rank_bits(address), at = in_block(address);
  Block* target = &b;
  if (rank != 0) {
    Cluster* cluster = b.cluster;
    const uint32_t count = cluster != nullptr ? static_cast<uint32_t>(cluster->blocks.size()) : 1;
    if (rank > count) {
      stop_launch(b, cuda::kLaunchFailure);
      checks::no_such_block(w, op, lane, rank - 1, count);
      return {};
    }
    if (cluster != nullptr) {
      if (cluster->done[rank - 1]) {
        stop_launch(b, cuda::kLaunchFailure);
        checks::block_has_exited(w, op, lane, rank - 1);
        return {};
      }
      target = cluster->blocks[rank - 1];
    }
  }
  uint32_t addresses[kLanes] = {};
  addresses[lane] = at;
  const Mask bit = 1u << lane;
  if (check_shared_bounds(w, op, addresses, bytes, bit, shape_of(addresses, bit, bytes), Direction::kStore) ==
      0)
    return {};
  return {target, at};
}

Mbarrier* remote_mbarrier(Warp& w, const Op& op, int lane, Block& at, uint32_t address) {
  AsyncUnit& unit = async_unit(at);
  const auto found = unit.barriers.find(address);
  if (found != unit.barriers.end()) return &found->second;
  if (w.block->options->check_sync) checks::no_mbarrier(w, op, lane, address);
  return nullptr;
}

void release_to_remote(Warp& w, Mask, Block& at, OrderClock& clock) {
  clock.note_thread(0, at.tick++);
  ++w.block->tick;
}

}  // namespace vgpu
