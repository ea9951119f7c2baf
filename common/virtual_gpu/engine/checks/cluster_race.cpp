#include "checks/cluster_race.h"

#include <algorithm>

#include "checks/report.h"
#include "checks/shared_check.h"
#include "exec/cluster.h"

namespace vgpu {

namespace {

ClusterOrder& order_of(const Block& b) {
  return b.cluster->order;
}

bool is_unordered(const Block& me, uint32_t rank, uint32_t tick) {
  return tick > order_of(me).known[me.cluster_rank][rank];
}

std::string block_name(uint32_t rank) {
  return "block " + std::to_string(rank);
}

// `verb`: what this lane does, `other_verb`: what the thread of the other block did by the instruction in
// `stamp`.
[[gnu::cold]] void race(Warp& w, const Op& op, int lane, const Block& owner, uint32_t address,
                        const char* verb, const char* other_verb, uint32_t other_rank, uint32_t stamp) {
  const Block& b = *w.block;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " of " + block_name(b.cluster_rank) + " of the cluster " + verb + " " +
                shared_text(owner, address) + " of " + block_name(owner.cluster_rank) +
                ", which a thread of " + block_name(other_rank) + " " + other_verb + " (" +
                place_text(*b.launch, who_op(stamp)) + ") with nothing in between that orders the two";
    f.advice =
        "Blocks of a cluster run side by side: put cluster.sync() between the two accesses, or let one block "
        "arrive at an mbarrier that the other waits for.";
  };
  report(w, op, lane, Mistake::kRaceInCluster, build, who_op(stamp));
}

const char* verb_of(SharedUse use) {
  return use == SharedUse::kRead ? "reads" : use == SharedUse::kAtomic ? "updates" : "writes";
}

// Against what a third block, or the owner's neighbour, did to the word before. True where it raced.
bool against_remote(Warp& w, const Op& op, int lane, const Block& owner, uint32_t word, SharedUse use,
                    const RemoteUses& seen) {
  const Block& b = *w.block;
  const auto is_other = [&](const RemoteUse& u) {
    return u.tick != 0 && u.rank != b.cluster_rank && is_unordered(b, u.rank, u.tick);
  };
  const bool both_atomic = use == SharedUse::kAtomic && (seen.write.who & kWhoAtomic);
  if (is_other(seen.write) && !both_atomic) {
    race(w, op, lane, owner, word * 4, verb_of(use), seen.write.who & kWhoAtomic ? "updates" : "writes",
         seen.write.rank, seen.write.who);
    return true;
  }
  if (use == SharedUse::kRead || !is_other(seen.read)) return false;
  race(w, op, lane, owner, word * 4, verb_of(use), "reads", seen.read.rank, seen.read.who);
  return true;
}

// Against what the owner's own threads did.
bool against_owner(Warp& w, const Op& op, int lane, const Block& owner, uint32_t word, SharedUse use,
                   const RemoteUses& seen) {
  const Block& b = *w.block;
  const SharedShadow& sh = owner.shadow;
  const bool split = sh.split[word] >= owner.start_tick;
  const StampArrays& s = split ? sh.bytes : sh.words;
  for (uint32_t i = split ? word * 4 : word; i < (split ? word * 4 + 4 : word + 1); ++i) {
    const struct {
      uint32_t tick, who;
      const char* verb;
      bool counts;
    } uses[] = {
        // A write from another block has left its stamp here, too.
        {s.write_tick[i], s.write_who[i], "writes", s.write_tick[i] != seen.write.owner_tick},
        {s.atomic_tick[i], s.atomic_who[i], "updates", use != SharedUse::kAtomic},
        {s.read_tick[i], s.read_who[i], "reads", use != SharedUse::kRead},
        {s.read2_tick[i], s.read2_who[i], "reads", use != SharedUse::kRead},
    };
    for (const auto& u : uses)
      if (u.counts && u.tick >= owner.start_tick && is_unordered(b, owner.cluster_rank, u.tick)) {
        race(w, op, lane, owner, word * 4, verb_of(use), u.verb, owner.cluster_rank, u.who);
        return true;
      }
  }
  return false;
}

}  // namespace

void order_blocks(Block& from, Block& to) {
  if (from.cluster == nullptr || from.cluster != to.cluster || &from == &to) return;
  ClusterOrder& order = order_of(from);
  std::vector<uint32_t>& knows = order.known[to.cluster_rank];
  const std::vector<uint32_t>& news = order.known[from.cluster_rank];
  for (size_t i = 0; i < knows.size(); ++i) knows[i] = std::max(knows[i], news[i]);
  if (from.unit) from.unit->released_to_cluster = from.tick;
  knows[from.cluster_rank] = from.tick++;
}

void order_whole_blocks(Block& from, Block& to) {
  if (from.cluster == nullptr || from.cluster != to.cluster || &from == &to) return;
  order_blocks(from, to);
  const std::vector<uint32_t>& knows = order_of(from).known[to.cluster_rank];
  for (BlockTicks& ticks : async_unit(to).blocks)
    for (size_t rank = 0; rank < knows.size(); ++rank) ticks[rank] = std::max(ticks[rank], knows[rank]);
}

void order_all_blocks(Cluster& cluster) {
  for (auto& uses : cluster.order.uses) uses.clear();
  for (std::vector<uint32_t>& knows : cluster.order.known)
    for (size_t i = 0; i < knows.size(); ++i) knows[i] = cluster.blocks[i]->tick;
  for (Block* b : cluster.blocks)
    for (BlockTicks& ticks : async_unit(*b).blocks)
      for (size_t i = 0; i < cluster.blocks.size(); ++i) ticks[i] = cluster.blocks[i]->tick;
}

void publish_to_cluster(Block& from) {
  if (from.cluster == nullptr) return;
  for (Block* to : from.cluster->blocks) order_whole_blocks(from, *to);
}

void check_remote_use(Warp& w, const Op& op, int lane, Block& owner, uint32_t address, uint32_t bytes,
                      SharedUse use) {
  Block& b = *w.block;
  auto& uses = order_of(b).uses[owner.cluster_rank];
  for (uint32_t word = address / 4; word < (address + bytes + 3) / 4; ++word) {
    RemoteUses& seen = uses[word];
    if (!against_owner(w, op, lane, owner, word, use, seen))
      against_remote(w, op, lane, owner, word, use, seen);
    const RemoteUse now{b.tick, make_who(b.thread_of(w, lane), op.index, use == SharedUse::kAtomic),
                        b.cluster_rank, owner.tick};
    (use == SharedUse::kRead ? seen.read : seen.write) = now;
  }
}

void check_own_use(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask, SharedUse use,
                   bool synchronises) {
  if (synchronises && use != SharedUse::kAtomic) return;
  const auto& uses = order_of(*w.block).uses[w.block->cluster_rank];
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    for (uint32_t word = address[lane] / 4; word < (address[lane] + bytes + 3) / 4; ++word)
      if (const auto found = uses.find(word); found != uses.end())
        if (against_remote(w, op, lane, *w.block, word, use, found->second)) break;
  }
}

bool written_by_other_block(const Block& b, uint32_t word, uint32_t tick) {
  if (!used_by_other_blocks(b)) return false;
  const auto& uses = order_of(b).uses[b.cluster_rank];
  const auto found = uses.find(word);
  return found != uses.end() && found->second.write.owner_tick == tick;
}

bool used_by_other_blocks(const Block& b) {
  return b.cluster != nullptr && !order_of(b).uses[b.cluster_rank].empty();
}

}  // namespace vgpu
