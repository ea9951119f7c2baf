// cp.async: issue, commit, wait.
#include <cstring>

#include "checks/report.h"
#include "checks/shared_check.h"
#include "exec/access.h"
#include "exec/memory_ops.h"
#include "exec/traffic.h"

namespace vgpu {

namespace {

// Bytes that nothing had written stay undefined where they are copied to.
void copy_unwritten(Warp& w, const PendingCopy& p, int lane) {
  Block& b = *w.block;
  const DeviceMemory& memory = b.launch->env.memory;
  const uint64_t src = p.src[static_cast<size_t>(lane)];
  const Allocation* from = memory.find(src);
  if (from == nullptr) return;
  const uint32_t origin = b.undefined.add({Mistake::kUnwrittenGlobal, p.op, b.thread_of(w, lane), src, from});
  for (uint32_t i = 0; i < p.take[static_cast<size_t>(lane)]; ++i)
    if (!memory.is_written(*from, src + i, 1))
      b.undefined.shared[p.dst[static_cast<size_t>(lane)] + i] = {origin, 0xff, false};
}

// Words of shared memory that a copy into them is in flight for, or not any more.
inline void mark_in_flight(Block& b, uint32_t first_word, uint32_t words, uint32_t who) {
  uint32_t* flying = b.shadow.in_flight.data() + first_word;
  for (uint32_t i = 0; i < words; ++i) {
    b.pending_async += (who != 0) - (flying[i] != 0);
    flying[i] = who;
  }
}

// The bytes that these lanes' copies read.
uint64_t complete(Warp& w, PendingCopy& p, Mask done) {
  Block& b = *w.block;
  uint64_t read = 0;
  const Mask here = done & p.lanes;
  for (Mask m = here; m != 0; m &= m - 1) {
    const size_t lane = static_cast<size_t>(first_lane(m));
    uint8_t* to = b.shared.data() + p.dst[lane];
    const uint8_t take = p.take[lane];
    read += take;
    if (take == 16) {
      std::memcpy(to, DeviceMemory::host(p.src[lane]), 16);
    } else {
      if (take) std::memcpy(to, DeviceMemory::host(p.src[lane]), take);
      std::memset(to + take, 0, static_cast<size_t>(p.bytes - take));
    }
    if (p.bytes == 16)
      mark_in_flight(b, p.dst[lane] / 4, 4, 0);
    else
      mark_in_flight(b, p.dst[lane] / 4, p.bytes / 4u, 0);
    if (!b.undefined.shared.empty()) forget_shared(b, p.dst.data(), p.bytes, 1u << lane);
    if (p.unwritten >> lane & 1) copy_unwritten(w, p, static_cast<int>(lane));
  }
  if (b.watch_shared) stamp_async_writes(w, p, here);
  p.lanes &= ~done;
  return read;
}

// Completes, for each active lane, its copies of all but the newest `keep` groups; with `all` also those
// that were never committed.
void wait_for(Warp& w, const Op& op, uint32_t keep, bool all) {
  AsyncCopies& a = *w.async;
  OpCounts& count = w.block->worker->ops[op.index];
  bool waits = false;
  for (size_t lane = 0; lane < kLanes; ++lane)
    a.committed_at_wait[lane] = w.exec >> lane & 1 ? a.committed[lane] : a.committed_at_wait[lane];
  for (PendingCopy& p : a.pending) {
    Mask done = 0;
    for (size_t lane = 0; lane < kLanes; ++lane)
      done |= static_cast<Mask>(p.group[lane] + keep < a.committed[lane]) << lane;
    done = (all ? kAllLanes : done) & w.exec & p.lanes;
    if (done == 0) continue;
    const uint64_t bytes = complete(w, p, done);
    waits = true;
    count.waited_bytes += bytes;
    // A copy travels from its cp.async on, whenever it is committed.
    if (p.matrix_instructions != w.matrix_instructions) count.ahead_bytes += bytes;
    if (p.global_stores != w.global_stores && p.waits != a.waits) count.overlapped_bytes += bytes;
  }
  count.waits += waits;
  a.waits += waits;
  std::erase_if(a.pending, [](const PendingCopy& p) { return p.lanes == 0; });
}

}  // namespace

void complete_copies(Warp& w, int lane, uint32_t tick) {
  AsyncCopies& a = *w.async;
  for (PendingCopy& p : a.pending)
    if (p.tick <= tick) complete(w, p, 1u << lane);
  std::erase_if(a.pending, [](const PendingCopy& p) { return p.lanes == 0; });
}

void async_copy(Warp& w, const Op& op) {
  Block& b = *w.block;
  const uint32_t bytes = op.copy.bytes;
  uint32_t dst[kLanes];
  uint64_t src[kLanes];
  uint8_t take[kLanes];
  const uint32_t dst_offset = op.copy.shared_offset;
  const int64_t src_offset = op.copy.global_offset;
  if (op.flags & kAddress64)
    for (int i = 0; i < kLanes; ++i)
      dst[i] = static_cast<uint32_t>(lanes_in<uint64_t>(w, op.src[0])[i]) + dst_offset;
  else
    for (int i = 0; i < kLanes; ++i) dst[i] = lanes_in<uint32_t>(w, op.src[0])[i] + dst_offset;
  for (int i = 0; i < kLanes; ++i)
    src[i] = lanes_in<uint64_t>(w, op.src[1])[i] + static_cast<uint64_t>(src_offset);
  Mask reads = w.exec;
  bool partial = false;
  std::memset(take, static_cast<int>(bytes), sizeof take);
  if (op.copy.size != CopySize::kWhole) {
    for (int i = 0; i < kLanes; ++i) {
      uint32_t n = bytes;
      if (op.copy.size == CopySize::kRegister) n = std::min(bytes, lanes_in<uint32_t>(w, op.src[2])[i]);
      if (op.copy.size == CopySize::kUnlessPredicate) n = predicate(w, op.src[2]) >> i & 1 ? 0 : bytes;
      take[i] = static_cast<uint8_t>(n);
      if (n == 0) reads &= ~(1u << i);
    }
    for (Mask m = reads; m != 0; m &= m - 1) partial |= take[first_lane(m)] != bytes;
  }
  const Shape dst_shape = shape_of(dst, w.exec, bytes);
  Mask good = check_shared_bounds(w, op, dst, bytes, w.exec, dst_shape, Direction::kStore);
  if (reads) {
    const Shape src_shape = shape_of(src, reads, bytes);
    Mask readable = 0;
    if (!partial) {
      readable = check_global(w, op, src, bytes, reads, src_shape, Direction::kAsync);
    } else {
      // A partial copy reads fewer bytes than it is aligned to: look at each lane's own piece.
      for (Mask m = reads; m != 0; m &= m - 1) {
        const int lane = first_lane(m);
        const Mask bit = 1u << lane;
        Mask ok = bit;
        for (uint32_t i = 0; i < take[lane] && ok; ++i) {
          uint64_t at[kLanes] = {};
          at[lane] = src[lane] + i;
          ok = check_global(w, op, at, 1, bit, Shape{}, Direction::kAsync);
        }
        if (ok && src[lane] % bytes != 0)
          ok = check_global(w, op, src, bytes, bit, Shape{}, Direction::kAsync);
        readable |= ok;
      }
    }
    count_global(w, op, src, bytes, readable, src_shape, Direction::kAsync);
    if (b.options->counters) {
      uint64_t sectors[kLanes];
      const int n =
          op.copy.bypasses_l1 ? bypass_sectors(src, dst, readable) : distinct_sectors(src, readable, sectors);
      b.worker->ops[op.index].global_sectors += static_cast<uint64_t>(n);
    }
    good &= readable | ~reads;
  }
  Mask unwritten = 0;
  for (const LoadedByte& byte : b.undefined.loaded) unwritten |= 1u << byte.lane;
  b.undefined.loaded.clear();
  if (good == 0) return;
  if (b.watch_shared) check_shared(w, op, dst, bytes, good, dst_shape, SharedUse::kAsyncIssue, false);
  AsyncCopies& a = *w.async;
  PendingCopy p;
  p.lanes = good;
  p.unwritten = unwritten;
  p.op = op.index;
  p.tick = b.tick;
  p.matrix_instructions = w.matrix_instructions;
  p.global_stores = w.global_stores;
  p.waits = a.waits;
  p.bytes = static_cast<uint8_t>(bytes);
  p.group = a.committed;
  std::copy(dst, dst + kLanes, p.dst.begin());
  std::copy(src, src + kLanes, p.src.begin());
  std::copy(take, take + kLanes, p.take.begin());
  for (Mask m = good; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    const uint32_t who = make_who(b.thread_of(w, lane), op.index, true);  // never zero
    if (bytes == 16)
      mark_in_flight(b, dst[lane] / 4, 4, who);
    else
      mark_in_flight(b, dst[lane] / 4, bytes / 4, who);
  }
  a.pending.push_back(p);
}

void async_commit(Warp& w, const Op&) {
  for (size_t lane = 0; lane < kLanes; ++lane) w.async->committed[lane] += w.exec >> lane & 1;
  w.async->commit_ticks.push_back(++w.block->tick);
}

void async_wait_group(Warp& w, const Op& op) {
  wait_for(w, op, static_cast<uint32_t>(op.groups), false);
}
void async_wait_all(Warp& w, const Op& op) {
  wait_for(w, op, 0, true);
}

}  // namespace vgpu
