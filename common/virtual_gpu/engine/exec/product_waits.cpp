// Waits for products. A product belongs to the whole warpgroup: a wait for it ends when all four warps have
// issued it, and then none of them reads shared memory for it any more. What each holds in registers is its
// own, and is there when it has waited itself.
#include <algorithm>

#include "exec/block.h"
#include "exec/scheduler.h"
#include "exec/wgmma.h"

namespace vgpu {

namespace {

constexpr uint32_t kProductBarrier = 0x200;  // Split::key of warps that wait for their warpgroup

// Of a wait: how many groups are over by it.
uint32_t groups_over(const Products& p, const Op& op) {
  const uint32_t keep = static_cast<uint32_t>(op.groups);
  return p.committed >= keep ? std::max(p.waited, p.committed - keep) : p.waited;
}

bool all_have_issued(Block& b, uint32_t warp, uint32_t products) {
  const uint32_t first = warp / kWarpsOfGroup * kWarpsOfGroup;
  const uint32_t end = std::min(first + kWarpsOfGroup, b.launch->warps);
  const Products* of = async_unit(b).products;
  return std::all_of(of + first, of + end, [&](const Products& p) { return p.issued >= products; });
}

bool waits_for_group(const Split& s) {
  return s.state == SplitState::kAtBarrier && s.key == kProductBarrier;
}

void let_go(Warp& w) {
  --async_unit(*w.block).product_waits;
  release_barrier(w, kProductBarrier, [&](const Split& s) { wgmma_wait(w, *s.waiting); });
}

// The products of the warpgroup up to `until` read shared memory no more, and this warp knows it.
void end_product_reads(Warp& w, uint32_t until) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  const uint32_t group = w.id / kWarpsOfGroup;
  std::vector<ProductsOver>& over = unit.products_over[group];
  std::vector<bool> done(unit.reads.size(), false);
  bool any = false;
  for (size_t i = 0; i < unit.reads.size(); ++i) {
    AsyncRead& read = unit.reads[i];
    done[i] = read.by_warp && read.thread / kLanes / kWarpsOfGroup == group && read.product < until;
    if (done[i]) read.thread = w.id * kLanes;
    any |= done[i];
  }
  if (any) finish_reads(b, done);
  if (over.empty() || over.back().until < until) over.push_back({until, b.tick});
  const auto mine = std::ranges::find_if(over, [&](const ProductsOver& o) { return o.until >= until; });
  unit.learn(w.id, kProductReader + group, mine->tick);
  // What all four have waited for is known to all.
  const uint32_t first = group * kWarpsOfGroup, end = std::min(first + kWarpsOfGroup, b.launch->warps);
  uint32_t known = until;
  for (uint32_t i = first; i < end; ++i) known = std::min(known, unit.products[i].awaited);
  while (over.size() > 1 && over.front().until <= known) over.erase(over.begin());
}

}  // namespace

void wgmma_commit(Warp& w, const Op&) {
  Products& p = async_unit(*w.block).products[w.id];
  ++p.committed;
  p.issued_until.push_back(p.issued);
}

void wgmma_wait(Warp& w, const Op& op) {
  Block& b = *w.block;
  Products& p = async_unit(b).products[w.id];
  const uint32_t groups = groups_over(p, op), until = p.products_of(groups);
  const bool any = until > p.awaited, more = p.products_of(p.committed) > until;
  p.issued_until.erase(p.issued_until.begin(),
                       p.issued_until.begin() + static_cast<std::ptrdiff_t>(groups - p.waited));
  p.waited = groups;
  p.awaited = until;
  OpCounts& count = b.worker->ops[op.index];
  count.waits += any || more;
  count.open_waits += more;
  if (any) end_product_reads(w, until);
}

void wait_for_products(Warp& w, int split, const Op& op) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  Split& s = w.splits[static_cast<size_t>(split)];
  const Products& p = unit.products[w.id];
  if (all_have_issued(b, w.id, p.products_of(groups_over(p, op)))) {
    wgmma_wait(w, op);
    return enter_block(w, split, s.block + 1);
  }
  s.waiting = &op;
  s.key = kProductBarrier;
  s.block += 1;
  ++unit.product_waits;
  set_state(w, split, SplitState::kAtBarrier);
}

void wake_product_waits(Warp& w) {
  Block& b = *w.block;
  const uint32_t first = w.id / kWarpsOfGroup * kWarpsOfGroup;
  for (uint32_t i = first; i < std::min(first + kWarpsOfGroup, b.launch->warps); ++i) {
    Warp& other = b.warps[i];
    const Products& p = async_unit(b).products[i];
    const auto waiting = std::ranges::find_if(other.splits, waits_for_group);
    if (waiting != other.splits.end() &&
        all_have_issued(b, i, p.products_of(groups_over(p, *waiting->waiting))))
      let_go(other);
  }
}

bool give_up_product_waits(Block& b) {
  if (!b.unit || b.unit->product_waits == 0) return false;
  for (Warp& w : b.warps)
    if (std::ranges::any_of(w.splits, waits_for_group)) let_go(w);
  b.unit->product_waits = 0;
  return true;
}

}  // namespace vgpu
