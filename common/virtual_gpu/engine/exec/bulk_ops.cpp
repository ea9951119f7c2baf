#include "exec/bulk_ops.h"

#include <algorithm>
#include <cstring>

#include "checks/access_findings.h"
#include "checks/async_findings.h"
#include "checks/bulk_operands.h"
#include "checks/report.h"
#include "checks/shared_check.h"
#include "cost/trace.h"
#include "cuda_error.h"
#include "exec/access.h"
#include "exec/async_detail.h"
#include "exec/bulk_reduce.h"
#include "exec/tensor_box.h"

namespace vgpu {

using checks::BulkOperand;
using checks::BulkOver;

namespace {

constexpr uint32_t kBulkUnit = 16;  // bytes: of sizes and of addresses

bool in_shared(Warp& w, const Op& op, int lane, uint32_t address, uint64_t bytes, Direction direction) {
  Block& b = *w.block;
  for (const SharedRegion& r : b.launch->shared_regions)
    if (address >= r.begin && address + bytes <= r.end) return true;
  if (b.options->check_memory)
    checks::out_of_shared({w, op, lane, address, static_cast<uint32_t>(bytes), direction});
  return false;
}

// Whether the lane may touch these bytes of device memory.
bool in_global(Warp& w, const Op& op, int lane, uint64_t address, uint64_t bytes, bool writes) {
  Block& b = *w.block;
  Allocation*& recent = b.worker->recent[op.index & 63];
  if (!recent || address < recent->base || address + bytes > recent->end()) {
    Allocation* found = b.launch->env.memory.find(address);
    if (found == nullptr || address + bytes > found->end()) {
      if (b.options->check_memory) {
        // The first byte that is nobody's.
        const uint64_t at = found == nullptr ? address : found->end();
        report_bad_address(w, op, lane, at, 1, writes ? Direction::kStore : Direction::kAsync);
      }
      return false;
    }
    recent = found;
  }
  if (b.worker->touched) b.worker->touched->note(writes ? Touch::kWrite : Touch::kRead, address, bytes);
  return true;
}

constexpr uint64_t kNoSector = ~0ull;

// `latest`: the sector in which the piece before it ended. A swizzle cuts rows into pieces of 16 bytes, two
// of which share a sector.
void count(Warp& w, const Op& op, uint64_t address, uint64_t bytes, bool writes, uint64_t& latest) {
  Block& b = *w.block;
  if (!b.options->counters || bytes == 0) return;
  OpCounts& c = b.worker->ops[op.index];
  const uint64_t first = address >> 5, last = (address + bytes - 1) >> 5;
  const uint32_t sectors = static_cast<uint32_t>(last - first + 1);
  c.global_bytes += bytes;
  c.global_sectors += sectors - (first == latest);
  latest = last;
  if (b.trace != nullptr) b.trace->bulk(w.id, op.index, address, bytes, writes);
  if (!DeviceMemory::in_device_arena(address)) return;
  SectorMap* map = writes ? b.launch->store_sectors : b.launch->copy_sectors;
  if (map) map->mark(address, sectors);
}

bool aligned(Warp& w, const Op& op, int lane, BulkOperand operand, uint64_t value, uint32_t unit) {
  if (value % unit == 0) return true;
  set_launch_error(*w.block, cuda::kMisalignedAddress);
  checks::misaligned_bulk(w, op, lane, operand, value, unit);
  return false;
}

bool is_async(const Block& b, uint32_t stamp) {
  return b.launch->kernel.origins[who_op(stamp)].opcode.find(".async.bulk") != std::string_view::npos;
}

// Whether a proxy fence has made what `thread` wrote in shared memory visible to the asynchronous proxy.
bool is_proxied(const Block& b, const Warp& w, int lane, uint32_t tick, uint32_t thread) {
  return b.unit->is_proxied(w, lane, tick, thread, Proxied::kShared);
}

// What of device memory a bulk copy reads.
void check_global_source(Warp& w, const Op& op, int lane, const std::vector<BulkPart>& parts) {
  if (ProxyWrites* proxies = w.block->worker->proxies.get())
    for (const BulkPart& p : parts)
      if (p.global != 0) proxies->bulk_read(w, op, lane, p);
}

// What a new copy into shared memory would overwrite.
void check_destination(Warp& w, const Op& op, int lane, const BulkLoad& load) {
  Block& b = *w.block;
  if (!b.watch_shared) return;
  SharedShadow& sh = b.shadow;
  Stamp before;  // of the word before: neighbours mostly have the same
  for (const BulkPart& p : load.parts)
    for (uint32_t word = p.shared / 4; word < (p.shared + p.bytes) / 4; ++word) {
      if (const uint32_t stamp = sh.in_flight[word]; stamp != 0 && b.options->check_async) {
        const BulkOver over = stamp & kWhoAtomic ? BulkOver::kCopyInFlight : BulkOver::kAsyncRead;
        return checks::bulk_over_use(w, op, lane, word * 4, {0, stamp}, over, load);
      }
      const bool split = sh.split[word] >= b.start_tick;
      const StampArrays& s = split ? sh.bytes : sh.words;
      for (uint32_t i = split ? word * 4 : word; i < (split ? word * 4 + 4 : word + 1); ++i) {
        const struct {
          uint32_t tick, who;
          BulkOver over;
        } seen[] = {{s.read_tick[i], s.read_who[i], BulkOver::kRead},
                    {s.read2_tick[i], s.read2_who[i], BulkOver::kRead},
                    {s.write_tick[i], s.write_who[i], BulkOver::kWrite},
                    {s.atomic_tick[i], s.atomic_who[i], BulkOver::kAtomic}};
        for (const auto& e : seen)
          if (b.options->check_race && e.tick >= b.full_tick && !is_ordered_use(b, w, lane, {e.tick, e.who}))
            return checks::bulk_over_use(w, op, lane, word * 4, {e.tick, e.who}, e.over, load);
        const bool by_atomic = s.atomic_tick[i] > s.write_tick[i];
        const Stamp last{by_atomic ? s.atomic_tick[i] : s.write_tick[i],
                         by_atomic ? s.atomic_who[i] : s.write_who[i]};
        if (!b.options->check_async || last.tick < b.start_tick) continue;
        if (last.tick == before.tick && last.who == before.who) continue;
        if (!is_async(b, last.who) && !written_by_other_block(b, word, last.tick) &&
            !is_proxied(b, w, lane, last.tick, who_thread(last.who)))
          return checks::missing_proxy_fence(w, op, lane, word * 4, last.who, "fills");
        before = last;
      }
    }
}

// The same for one into another block's shared memory, of which is known what this warp knows of that
// block as a whole.
void check_remote_destination(Warp& w, const Op& op, int lane, const Block& to, const BulkLoad& load) {
  Block& b = *w.block;
  if (!to.watch_shared || !b.options->check_async || !b.options->check_race) return;
  async_unit(b);
  const SharedShadow& sh = to.shadow;
  const uint32_t known = b.unit->blocks[w.id][to.cluster_rank];
  const uint32_t since = std::max(to.start_tick, known + 1);  // what happened there before is over
  for (const BulkPart& p : load.parts)
    for (uint32_t word = p.shared / 4; word < (p.shared + p.bytes) / 4; ++word) {
      if (const uint32_t stamp = sh.in_flight[word]; stamp != 0)
        return checks::bulk_over_neighbour(
            w, op, lane, to, word * 4, stamp,
            stamp & kWhoAtomic ? BulkOver::kCopyInFlight : BulkOver::kAsyncRead);
      const bool split = sh.split[word] >= to.start_tick;
      const StampArrays& s = split ? sh.bytes : sh.words;
      for (uint32_t i = split ? word * 4 : word; i < (split ? word * 4 + 4 : word + 1); ++i) {
        const struct {
          uint32_t tick, who;
          BulkOver over;
        } seen[] = {{s.read_tick[i], s.read_who[i], BulkOver::kRead},
                    {s.read2_tick[i], s.read2_who[i], BulkOver::kRead},
                    {s.write_tick[i], s.write_who[i], BulkOver::kWrite},
                    {s.atomic_tick[i], s.atomic_who[i], BulkOver::kAtomic}};
        for (const auto& e : seen) {
          if (e.tick < since) continue;
          const bool writes = e.over == BulkOver::kWrite;
          if (writes && written_by_other_block(to, word, e.tick)) continue;
          return checks::bulk_over_neighbour(w, op, lane, to, word * 4, e.who,
                                             writes && is_async(to, e.who) ? BulkOver::kBrought : e.over);
        }
      }
    }
}

void check_written(Warp& w, const Op& op, const std::vector<BulkPart>& parts) {
  Block& b = *w.block;
  if (b.undefined.shared.empty() || !b.options->check_init) return;
  for (const BulkPart& p : parts)
    for (uint32_t i = 0; i < p.bytes; ++i)
      if (const auto at = b.undefined.shared.find(p.shared + i); at != b.undefined.shared.end())
        return report_undefined(b, at->second.origin, op, Use::kStore);
}

void start_load(Warp& w, const Op& op, int lane, Block& to, BulkLoad load) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(to);
  const Mbarrier* bar =
      &to == &b ? find_mbarrier(w, op, lane, load.barrier) : remote_mbarrier(w, op, lane, to, load.barrier);
  if (bar == nullptr) return;
  load.op = op.index;
  load.thread = &to == &b ? b.thread_of(w, lane) : 0;
  load.barrier_phase = bar->phase;
  if (&to == &b && b.trace != nullptr)
    b.trace->arrives(w.id, op.index, b.trace->mbarrier(load.barrier), load.barrier_phase);
  if (load.reduction == BulkReduction::kNone) {
    if (&to == &b)
      check_destination(w, op, lane, load);
    else
      check_remote_destination(w, op, lane, to, load);
  }
  mark_load(to, load);
  if (&to != &b) {
    load.known = async_unit(b).blocks[w.id];
    load.known[b.cluster_rank] = b.tick;
    order_blocks(b, to);
  }
  unit.loads.push_back(std::move(load));
  ++b.tick;
  ++to.changes;
}

void start_read(Warp& w, const Op& op, int lane, std::vector<BulkPart> parts) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  AsyncRead read;
  read.op = op.index;
  read.thread = b.thread_of(w, lane);
  read.group = unit.committed[read.thread];
  read.parts = std::move(parts);
  mark_read(b, read);
  unit.reads.push_back(std::move(read));
  ++b.tick;
}

void start_write(Warp& w, const Op& op, int lane, const std::vector<BulkPart>& parts) {
  AsyncUnit& unit = async_unit(*w.block);
  const uint32_t thread = w.block->thread_of(w, lane);
  const uint32_t number = w.block->worker->proxies->bulk_store(w, op, lane, parts);
  if (number != 0) unit.writes.push_back({number, thread, unit.committed[thread]});
}

void write_global(Warp& w, const Op& op, BulkType type, const BulkPart& p, const uint8_t* from,
                  uint64_t& latest) {
  Block& b = *w.block;
  const BulkDetail& d = *op.bulk;
  uint8_t* to = DeviceMemory::host(p.global);
  if (d.reduction == BulkReduction::kNone)
    std::memcpy(to, from, p.bytes);
  else
    reduce_bytes(d.reduction, type, to, from, p.bytes);
  if (b.options->check_init) {
    uint64_t address[kLanes] = {p.global};
    Shape one;
    one.uniform = true;
    one.count = 1;
    mark_global_written(w, op, address, p.bytes, 1, one);
  }
  count(w, op, p.global, p.bytes, true, latest);
}

void store_parts(Warp& w, const Op& op, int lane, BulkType type, const std::vector<BulkPart>& all) {
  Block& b = *w.block;
  std::vector<BulkPart> parts;
  for (const BulkPart& p : all)
    if (p.global != 0) parts.push_back(p);
  check_async_source(w, op, lane, parts.data(), parts.size());
  check_written(w, op, parts);
  ++b.changes;
  ++w.global_stores;
  uint64_t latest = kNoSector;
  for (const BulkPart& p : parts)
    if (in_global(w, op, lane, p.global, p.bytes, true))
      write_global(w, op, type, p, b.shared.data() + p.shared, latest);
  if (b.worker->proxies) start_write(w, op, lane, parts);
  start_read(w, op, lane, std::move(parts));
}

// Blocks that a copy goes to: this one, the one of its address, or those of a mask.
template <class F>
void for_each_target(Warp& w, const Op& op, int lane, uint32_t address, F f) {
  Block& b = *w.block;
  const BulkDetail& d = *op.bulk;
  if (!d.multicast) {
    const Remote at = resolve_shared(w, op, lane, address, kBulkUnit);
    if (at.block != nullptr) f(*at.block, at.address);
    return;
  }
  const uint32_t mask = place_value32(w, op, d.blocks, lane) & 0xffff;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint32_t rank = static_cast<uint32_t>(std::countr_zero(m));
    if (b.cluster == nullptr && rank == 0) {
      f(b, in_block(address));
      continue;
    }
    const Remote at = resolve_shared(w, op, lane, in_block(address) | (rank + 1) << kRankShift, kBulkUnit);
    if (at.block != nullptr) f(*at.block, at.address);
  }
}

void copy_bytes(Warp& w, const Op& op, int lane) {
  Block& b = *w.block;
  const BulkDetail& d = *op.bulk;
  const uint64_t source = place_value(w, op, d.source, lane);
  const uint32_t size = place_value32(w, op, d.size, lane);
  if (!aligned(w, op, lane, BulkOperand::kSize, size, kBulkUnit)) return;
  if (size == 0) {
    set_launch_error(b, cuda::kIllegalInstruction);
    checks::empty_bulk(w, op, lane);
    return;
  }
  if (!aligned(w, op, lane, BulkOperand::kSource, source, kBulkUnit)) return;
  if (d.kind == BulkKind::kPrefetch) {
    in_global(w, op, lane, source, size, false);
    return;
  }
  const uint64_t destination = place_value(w, op, d.destination, lane);
  if (!aligned(w, op, lane, BulkOperand::kDestination, destination, kBulkUnit)) return;
  ++b.worker->ops[op.index].global_requests;
  if (d.kind == BulkKind::kStore) {
    const uint32_t from = static_cast<uint32_t>(source);
    if (!in_shared(w, op, lane, from, size, Direction::kLoad)) return;
    store_parts(w, op, lane, d.type, {{from, destination, size}});
    return;
  }
  BulkLoad load;
  load.bytes = size;
  if (d.kind == BulkKind::kToCluster) {
    const uint32_t from = static_cast<uint32_t>(source);
    if (!in_shared(w, op, lane, from, size, Direction::kLoad)) return;
    const BulkPart part{from, 0, size};
    check_async_source(w, op, lane, &part, 1);
    load.data.assign(b.shared.begin() + from, b.shared.begin() + from + size);
    load.reduction = d.reduction;
    load.type = d.type;
  } else {
    if (!in_global(w, op, lane, source, size, false)) return;
    check_global_source(w, op, lane, {{0, source, size}});
  }
  for_each_target(w, op, lane, static_cast<uint32_t>(destination), [&](Block& to, uint32_t address) {
    if (!in_shared(w, op, lane, address, size, Direction::kStore)) return;
    uint64_t latest = kNoSector;
    if (d.kind == BulkKind::kLoad) count(w, op, source, size, false, latest);
    BulkLoad mine = load;
    mine.parts = {{address, d.kind == BulkKind::kToCluster ? 0 : source, size}};
    mine.barrier = in_block(place_value32(w, op, d.barrier, lane));
    start_load(w, op, lane, to, std::move(mine));
  });
}

void copy_box(Warp& w, const Op& op, int lane) {
  Block& b = *w.block;
  const BulkDetail& d = *op.bulk;
  TensorMap map;
  const uint64_t map_address = place_value(w, op, d.map, lane);
  if (!read_tensor_map(w, op, lane, map_address, &map)) return;
  if (b.worker->proxies && d.kind != BulkKind::kPrefetch)
    b.worker->proxies->use_map(w, op, lane, map_address);
  const TensorPlace place = tensor_place(w, op, lane);
  if (!box_fits(w, op, lane, map, place)) return;
  const bool stores = d.kind == BulkKind::kStore;
  if (d.kind == BulkKind::kPrefetch) return;
  if (map.base == 0 && !in_global(w, op, lane, 0, 1, stores)) return;  // the driver takes such a map
  ++b.worker->ops[op.index].global_requests;
  const uint32_t shared = place_value32(w, op, stores ? d.source : d.destination, lane);
  constexpr uint32_t kBoxAlignment = 128;
  if (!aligned(w, op, lane, BulkOperand::kShared, in_block(shared), kBoxAlignment)) return;
  const uint64_t bytes = tensor_box_bytes(map);
  // None where the box leaves shared memory: rows narrower than their swizzle reach further than their bytes.
  auto good_parts = [&](uint32_t address) {
    std::vector<BulkPart> parts;
    const Direction direction = stores ? Direction::kLoad : Direction::kStore;
    if (!in_shared(w, op, lane, address, bytes, direction)) return parts;
    parts = box_parts(map, place, address);
    uint32_t end = address;
    for (const BulkPart& p : parts) end = std::max(end, p.shared + p.bytes);
    if (!in_shared(w, op, lane, address, end - address, direction)) parts.clear();
    uint64_t latest = kNoSector;
    for (BulkPart& p : parts)
      if (!stores && p.global != 0) {
        if (!in_global(w, op, lane, p.global, p.bytes, false))
          p.global = 0;
        else
          count(w, op, p.global, p.bytes, false, latest);
      }
    return parts;
  };
  if (stores) {
    const std::vector<BulkPart> parts = good_parts(shared);
    if (!parts.empty()) store_parts(w, op, lane, element_type(map), parts);
    return;
  }
  bool first = true;
  for_each_target(w, op, lane, shared, [&](Block& to, uint32_t address) {
    BulkLoad load;
    load.parts = good_parts(address);
    if (load.parts.empty()) return;
    if (first) check_global_source(w, op, lane, load.parts);
    first = false;
    load.bytes = bytes;
    load.to_tf32 = rounds_to_tf32(map);
    load.fill = fill_pattern(map);
    if (map.rank > 1) load.layout = static_cast<uint8_t>(1 + map.swizzle);
    load.barrier = in_block(place_value32(w, op, d.barrier, lane));
    start_load(w, op, lane, to, std::move(load));
  });
}

}  // namespace

void check_async_source(Warp& w, const Op& op, int lane, const BulkPart* parts, size_t count) {
  Block& b = *w.block;
  if (!b.watch_shared) return;
  async_unit(b);
  SharedShadow& sh = b.shadow;
  uint32_t seen_tick = 0, seen_stamp = 0;  // of the word before: neighbours mostly have the same
  for (size_t k = 0; k < count; ++k)
    for (uint32_t word = parts[k].shared / 4; word < (parts[k].shared + parts[k].bytes + 3) / 4; ++word) {
      if (const uint32_t stamp = sh.in_flight[word]; (stamp & kWhoAtomic) && b.options->check_async) {
        if (!checks::use_of_bulk_load(w, op, lane, word * 4, stamp, "reads"))
          checks::async_reads_unordered(w, op, lane, word * 4, stamp);
        return;
      }
      const bool split = sh.split[word] >= b.start_tick;
      const StampArrays& s = split ? sh.bytes : sh.words;
      for (uint32_t i = split ? word * 4 : word; i < (split ? word * 4 + 4 : word + 1); ++i) {
        const bool by_atomic = s.atomic_tick[i] > s.write_tick[i];
        const uint32_t tick = by_atomic ? s.atomic_tick[i] : s.write_tick[i];
        const uint32_t stamp = by_atomic ? s.atomic_who[i] : s.write_who[i];
        if (tick == seen_tick && stamp == seen_stamp) continue;
        if (tick < b.start_tick) {
          if (b.options->check_init) checks::async_reads_unwritten(w, op, lane, word * 4);
          return;
        }
        if (b.options->check_race && tick >= b.full_tick && !is_ordered(b, w, lane, tick, who_thread(stamp)))
          return checks::async_reads_unordered(w, op, lane, word * 4, stamp);
        if (b.options->check_async && !is_async(b, stamp) && !is_proxied(b, w, lane, tick, who_thread(stamp)))
          return checks::missing_proxy_fence(w, op, lane, word * 4, stamp, "reads");
        seen_tick = tick;
        seen_stamp = stamp;
      }
    }
}

void bulk_copy(Warp& w, const Op& op) {
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    if (op.bulk->rank == 0)
      copy_bytes(w, op, lane);
    else
      copy_box(w, op, lane);
  }
}

void remote_store(Warp& w, const Op& op) {
  const BulkDetail& d = *op.bulk;
  for (Mask m = w.exec; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint32_t bytes = static_cast<uint32_t>(d.values * d.value_bytes);
    const uint32_t where = place_value32(w, op, d.destination, lane);
    const Remote at = resolve_shared(w, op, lane, where, bytes);
    if (at.block == nullptr) continue;
    BulkLoad load;
    load.bytes = bytes;
    load.reduction = d.reduction;
    load.type = d.type;
    load.parts = {{at.address, 0, bytes}};
    for (int i = 0; i < d.values; ++i) {
      const uint64_t value = place_value(w, op, d.coordinates[i], lane);
      const auto* raw = reinterpret_cast<const uint8_t*>(&value);
      load.data.insert(load.data.end(), raw, raw + d.value_bytes);
    }
    load.barrier = in_block(place_value32(w, op, d.barrier, lane));
    start_load(w, op, lane, *at.block, std::move(load));
  }
}

void bulk_commit(Warp& w, const Op&) {
  AsyncUnit& unit = async_unit(*w.block);
  for (Mask m = w.exec; m != 0; m &= m - 1) ++unit.committed[w.block->thread_of(w, first_lane(m))];
}

namespace {

// Of the waiting threads' bulk stores, some have read their source, or have written, too.
void wait_for_writes(Warp& w, const Op& op) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  std::erase_if(unit.writes, [&](const AsyncWrite& write) {
    const bool waits = write.thread / kLanes == w.id && (w.exec >> (write.thread % kLanes) & 1) &&
                       write.group + op.bulk->groups < unit.committed[write.thread];
    if (!waits) return false;
    if (op.bulk->waits_for_reads)
      b.worker->proxies->bulk_source_read(write.number);
    else
      b.worker->proxies->bulk_store_over(write.number);
    return !op.bulk->waits_for_reads;
  });
}

}  // namespace

void bulk_wait(Warp& w, const Op& op) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  std::vector<bool> done(unit.reads.size(), false);
  bool any = false;
  for (size_t i = 0; i < unit.reads.size(); ++i) {
    const AsyncRead& read = unit.reads[i];
    if (read.by_warp || read.thread / kLanes != w.id || !(w.exec >> (read.thread % kLanes) & 1)) continue;
    done[i] = read.group + op.bulk->groups < unit.committed[read.thread];
    any |= done[i];
  }
  if (any) finish_reads(b, done);
  if (!unit.writes.empty()) wait_for_writes(w, op);
}

void check_async_end(Block& b) {
  if (!b.unit || !b.options->check_async || b.must_stop()) return;
  for (const AsyncRead& read : b.unit->reads)
    if (!read.by_warp) checks::ends_before_store(b, read);
  for (const BulkLoad& load : b.unit->loads) checks::ends_before_load(b, load);
}

}  // namespace vgpu
