#include "exec/cluster.h"

#include <algorithm>

#include "checks/async_findings.h"
#include "checks/report.h"
#include "checks/shared_check.h"
#include "checks/sync_findings.h"
#include "cuda_error.h"
#include "exec/access.h"
#include "exec/scheduler.h"
#include "exec/standstill.h"
#include "exec/wgmma.h"

namespace vgpu {

namespace {

// A block without a cluster is one of its own.
Cluster& cluster_of(Block& b) {
  if (b.cluster != nullptr) return *b.cluster;
  if (!b.alone) {
    b.alone = std::make_unique<Cluster>();
    b.alone->blocks = {&b};
    b.alone->order = ClusterOrder(1);
    b.alone->done = {false};
  }
  return *b.alone;
}

// A thread that arrives at the cluster's barrier releases the initialisations that it knows of; by a relaxed
// arrival, only those that a fence stands behind.
void release_inits(Warp& w, Mask lanes, bool relaxed) {
  Block& b = *w.block;
  for (auto& [address, m] : b.unit->barriers) {
    if (m.init_released || (relaxed && !m.init_fenced)) continue;
    const uint32_t thread = who_thread(m.init_who);
    const int initialiser = static_cast<int>(thread % kLanes);
    const bool own = thread / kLanes == w.id && (lanes >> initialiser & 1);
    m.init_released = is_ordered(b, w, own ? initialiser : first_lane(lanes), m.init_tick, thread);
  }
}

void wake(Block& b) {
  for (Warp& w : b.warps) release_barrier(w, kClusterBarrier, [](const Split&) {});
}

void complete_if_all_came(Cluster& cluster) {
  uint64_t gone = 0, threads = 0;
  for (size_t i = 0; i < cluster.blocks.size(); ++i) {
    const uint32_t n = cluster.blocks[i]->launch->threads;
    threads += n;
    gone += cluster.done[i] ? n : cluster.blocks[i]->exited_threads;
  }
  if (cluster.arrived == 0 || cluster.arrived + gone < threads) return;
  cluster.arrived = 0;
  ++cluster.round;
  order_all_blocks(cluster);
  for (size_t i = 0; i < cluster.blocks.size(); ++i) {
    if (cluster.done[i]) continue;
    Block& b = *cluster.blocks[i];
    meet_in_block(b, ~0u, true);
    ++b.changes;
    wake(b);
  }
}

}  // namespace

Remote resolve_shared(Warp& w, const Op& op, int lane, uint32_t address, uint32_t bytes) {
  Block& b = *w.block;
  const uint32_t rank = rank_bits(address), at = in_block(address);
  Block* target = &b;
  if (rank != 0) {
    const Cluster& cluster = cluster_of(b);
    const uint32_t count = static_cast<uint32_t>(cluster.blocks.size());
    if (rank > count) {
      stop_launch(b, cuda::kLaunchFailure);
      checks::no_such_block(w, op, lane, rank - 1, count);
      return {};
    }
    if (cluster.done[rank - 1]) {
      stop_launch(b, cuda::kLaunchFailure);
      checks::block_has_exited(w, op, lane, rank - 1);
      return {};
    }
    target = cluster.blocks[rank - 1];
  }
  uint32_t addresses[kLanes] = {};
  addresses[lane] = at;
  const Mask bit = 1u << lane;
  const Shape shape = shape_of(addresses, bit, bytes);
  if (check_shared_bounds(w, op, addresses, bytes, bit, shape, Direction::kStore) == 0) return {};
  return {target, at};
}

Mbarrier* remote_mbarrier(Warp& w, const Op& op, int lane, Block& at, uint32_t address) {
  AsyncUnit& unit = async_unit(at);
  const auto found = unit.barriers.find(address);
  const bool checked = w.block->options->check_sync;
  if (found == unit.barriers.end()) {
    if (checked) checks::no_mbarrier(w, op, lane, at, address);
    return nullptr;
  }
  Mbarrier& m = found->second;
  if (!checked) return &m;
  const uint32_t seen = w.block->cluster->order.known[w.block->cluster_rank][at.cluster_rank];
  if (m.init_tick > seen)
    checks::remote_init_unordered(w, op, lane, at, address, m);
  else if (!m.init_released && m.init_tick > unit.released_to_cluster)
    checks::init_not_released(w, op, lane, at, address, m);
  return &m;
}

void release_to_remote(Warp& w, Mask, Block& at, OrderClock& clock) {
  const Block& b = *w.block;
  const BlockTicks& known = async_unit(*w.block).blocks[w.id];
  for (size_t rank = 0; rank < known.size(); ++rank)
    clock.blocks[rank] = std::max(clock.blocks[rank], rank == b.cluster_rank ? b.tick : known[rank]);
  order_blocks(*w.block, at);
  clock.note_thread(0, at.tick++);
  ++w.block->tick;
}

Mask serve_other_blocks(Warp& w, const Op& op, const uint32_t* address, Mask mask, uint32_t bytes,
                        bool writes, uint32_t* own, const ServeShared& serve) {
  Block& b = *w.block;
  std::copy(address, address + kLanes, own);
  Mask left = mask, mine = 0;
  for (Mask m = mask; m != 0; m &= m - 1)
    if (rank_bits(address[first_lane(m)]) == 0) mine |= 1u << first_lane(m);
  left &= ~mine;
  while (left != 0) {
    const uint32_t rank = rank_bits(address[first_lane(left)]);
    Mask same = 0;
    for (Mask m = left; m != 0; m &= m - 1)
      if (rank_bits(address[first_lane(m)]) == rank) same |= 1u << first_lane(m);
    left &= ~same;
    for (Mask m = same; m != 0; m &= m - 1) own[first_lane(m)] = in_block(address[first_lane(m)]);
    const int first = first_lane(same);
    const Remote at = resolve_shared(w, op, first, address[first], bytes);
    if (at.block == nullptr) continue;
    if (at.block == &b) {
      mine |= same;
      continue;
    }
    Block& other = *at.block;
    if (b.options->check_race) {
      const bool atomic = op.cls == InstrClass::kAtomic;
      const SharedUse use = atomic ? SharedUse::kAtomic : writes ? SharedUse::kWrite : SharedUse::kRead;
      const bool is_flag = !atomic && (op.flags & (writes ? kReleases : kPolls));
      if (atomic || is_flag) {  // locks and counters, too: they may order the blocks in either direction
        order_whole_blocks(other, b);
        order_whole_blocks(b, other);
      }
      for (Mask m = is_flag ? 0 : same; m != 0; m &= m - 1)
        check_remote_use(w, op, first_lane(m), other, own[first_lane(m)], bytes, use);
    }
    std::swap(b.shared, other.shared);
    std::swap(b.undefined.shared, other.undefined.shared);
    const bool watched = b.watch_shared;
    b.watch_shared = false;
    serve(own, same);
    b.watch_shared = watched;
    std::swap(b.shared, other.shared);
    std::swap(b.undefined.shared, other.undefined.shared);
    if (!writes) continue;
    ++other.changes;
    for (Mask m = same; m != 0; m &= m - 1) {
      const uint32_t begin = own[first_lane(m)];
      for (uint32_t word = begin / 4; word < (begin + bytes + 3) / 4 && word < other.shadow.split.size();
           ++word) {
        other.shadow.split[word] = 0;
        other.shadow.words.write_tick[word] = other.tick;
        other.shadow.words.write_who[word] = make_who(0, op.index, true);
      }
    }
    ++other.tick;
  }
  return mine;
}

void arrive_in_cluster(Warp& w, int split, const Op& op) {
  Block& b = *w.block;
  Cluster& cluster = cluster_of(b);
  AsyncUnit& unit = async_unit(b);
  const Mask lanes = w.splits[static_cast<size_t>(split)].mask;
  if (lanes != w.live() && b.options->check_sync) checks::cluster_arrival_of_partial_warp(w, op, lanes);
  for (Mask m = lanes; m != 0; m &= m - 1) unit.cluster_round[b.thread_of(w, first_lane(m))] = cluster.round;
  release_inits(w, lanes, op.barrier.relaxed);
  cluster.arrived += static_cast<uint32_t>(std::popcount(lanes));
  ++b.changes;
  enter_block(w, split, w.splits[static_cast<size_t>(split)].block + 1);
  complete_if_all_came(cluster);
}

void wait_for_cluster(Warp& w, int split, const Op& op) {
  Block& b = *w.block;
  Split& s = w.splits[static_cast<size_t>(split)];
  const uint32_t round = async_unit(b).cluster_round[b.thread_of(w, first_lane(s.mask))];
  if (round != 0 && round < cluster_of(b).round) return enter_block(w, split, s.block + 1);
  s.waiting = &op;
  s.key = kClusterBarrier;
  s.block += 1;
  set_state(w, split, SplitState::kAtBarrier);
}

void check_cluster_barrier(Block& b) {
  if (b.cluster != nullptr || b.alone) complete_if_all_came(cluster_of(b));
}

bool waits_for_cluster(const Block& b) {
  for (const Warp& w : b.warps)
    for (const Split& s : w.splits)
      if (s.state == SplitState::kAtBarrier && s.key == kClusterBarrier) return true;
  return false;
}

void map_to_block(Warp& w, const Op& op) {
  const uint32_t* rank = lanes_in<uint32_t>(w, op.src[1]);
  // The block's own memory needs no rank; a block that is in no cluster has the rank 0.
  auto mapped = [&](uint32_t address, uint32_t to) {
    return in_block(address) | (to == w.block->cluster_rank ? 0 : (to + 1) << kRankShift);
  };
  if (op.flags & kAddress64) {
    const uint64_t* a = lanes_in<uint64_t>(w, op.src[0]);
    write_lanes<false, uint64_t>(w, op.dst, [&](int i) {
      const uint64_t window = a[i] & ~((1ull << 32) - 1);
      return window | mapped(static_cast<uint32_t>(a[i]), rank[i]);
    });
    return;
  }
  const uint32_t* a = lanes_in<uint32_t>(w, op.src[0]);
  write_lanes<false, uint32_t>(w, op.dst, [&](int i) { return mapped(a[i], rank[i]); });
}

void rank_of_address(Warp& w, const Op& op) {
  const uint32_t mine = w.block->cluster_rank;
  write_lanes<false, uint32_t>(w, op.dst, [&](int i) {
    const uint32_t a = op.flags & kAddress64 ? static_cast<uint32_t>(lanes_in<uint64_t>(w, op.src[0])[i])
                                             : lanes_in<uint32_t>(w, op.src[0])[i];
    return rank_bits(a) != 0 ? rank_bits(a) - 1 : mine;
  });
}

Dim3 cluster_size(const LaunchRequest& request, const KernelCode& kernel) {
  const int* fixed =
      kernel.required_cluster[0] > 0 ? kernel.required_cluster : request.kernel->required_cluster;
  if (fixed[0] > 0)
    return {static_cast<uint32_t>(fixed[0]), static_cast<uint32_t>(std::max(1, fixed[1])),
            static_cast<uint32_t>(std::max(1, fixed[2]))};
  const Dim3& c = request.cluster;
  return {std::max(1u, c.x), std::max(1u, c.y), std::max(1u, c.z)};
}

namespace {

// Its blocks wait for each other: none goes on alone.
void abandon(Cluster& cluster) {
  for (size_t rank = 0; rank < cluster.blocks.size(); ++rank) {
    Block& b = *cluster.blocks[rank];
    b.is_abandoned = true;
    if (!cluster.done[rank]) b.end();
    b.cluster = nullptr;
  }
}

// By all of its blocks: one may change what belongs to another.
uint64_t changes_in(const Cluster& cluster) {
  uint64_t changes = 0;
  for (const Block* b : cluster.blocks) changes += b->changes;
  return changes;
}

// A lane that polls for another block makes way again and again while that one works. It needs no lane of its
// own warp that waits at a join: only where nothing changes are those let go. From time to time they are
// anyway: what changes may be a counter in the polling loop itself.
void keep_joins(Cluster& cluster, uint64_t round) {
  constexpr uint64_t kPeriod = 1 << 16, kLetGo = 64;
  if (round % kPeriod >= kPeriod - kLetGo) return;
  for (Block* b : cluster.blocks)
    for (Warp& w : b->warps) w.yields = 0;
}

}  // namespace

void run_cluster(Launch& launch, Worker& worker, uint64_t number,
                 std::vector<std::unique_ptr<Block>>& blocks) {
  const Dim3 size = launch.cluster, grid = launch.request.grid;
  const uint64_t across = grid.x / size.x, down = grid.y / size.y;
  const uint64_t cx = number % across, cy = number / across % down, cz = number / (across * down);
  Cluster cluster;
  const uint32_t count = static_cast<uint32_t>(size.count());
  while (blocks.size() < count) blocks.push_back(std::make_unique<Block>(worker));
  cluster.done.assign(count, false);
  cluster.order = ClusterOrder(count);
  for (uint32_t rank = 0; rank < count; ++rank) {
    Block& b = *blocks[rank];
    cluster.blocks.push_back(&b);
    b.cluster = &cluster;
    b.cluster_rank = rank;
    const uint64_t x = cx * size.x + rank % size.x, y = cy * size.y + rank / size.x % size.y,
                   z = cz * size.z + rank / (size.x * size.y);
    b.start(x + grid.x * (y + uint64_t{grid.y} * z));
  }
  Standstill standstill;
  uint64_t round = 0;
  for (uint32_t left = count; left > 0 && !launch.stop; ++round) {
    bool changed = false;
    const uint64_t before = changes_in(cluster);
    for (uint32_t rank = 0; rank < count && !launch.stop; ++rank) {
      if (cluster.done[rank]) continue;
      Block& b = *blocks[rank];
      const Block::Outcome outcome = b.run(true);
      changed |= outcome == Block::Outcome::kWorking;
      if (b.is_abandoned) return abandon(cluster);
      if (outcome != Block::Outcome::kDone) continue;
      changed = true;
      ++launch.blocks_done;
      b.end();
      cluster.done[rank] = true;
      --left;
      complete_if_all_came(cluster);
    }
    changed |= changes_in(cluster) != before;
    if (changed) keep_joins(cluster, round);
    if (!standstill.after_round(changed, cluster.blocks)) continue;
    bool moved = false;
    for (Block* b : cluster.blocks) moved |= give_up_product_waits(*b);
    if (moved) continue;
    for (uint32_t rank = 0; rank < count && !launch.stop; ++rank)
      if (!cluster.done[rank]) report_hang(*blocks[rank], HangReason::kBlocksPoll);
    if (launch.is_sampled) return abandon(cluster);
    break;
  }
  for (uint32_t rank = 0; rank < count; ++rank) {
    if (!cluster.done[rank]) blocks[rank]->end();
    blocks[rank]->cluster = nullptr;
  }
}

}  // namespace vgpu
