// What is said about accesses to shared memory that collide with what another thread did. Only
// shared_check.cpp includes it: where nothing else can call these functions, the compiler keeps the checks in
// registers.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>

#include "checks/async_findings.h"
#include "checks/copy_words.h"
#include "checks/report.h"
#include "checks/shared_check.h"

namespace vgpu {
namespace {

bool ordered(const Block& b, const Warp& w, int lane, uint32_t tick, uint32_t who) {
  return is_ordered_use(b, w, lane, {tick, who});
}

const char* verb(SharedUse use) {
  switch (use) {
    case SharedUse::kRead:
      return "reads";
    case SharedUse::kWrite:
      return "writes";
    case SharedUse::kAtomic:
      return "updates";
    case SharedUse::kAsyncIssue:
      return "starts an asynchronous copy into";
  }
  return "touches";
}

// Whom a race inside a block is between.
const char* between(bool same_warp) {
  return same_warp ? "lanes" : "warps";
}

// The barrier that two sides of a race need. Lanes of one warp were seen; others may do the same.
std::string barrier_text(const Block& b, bool same_warp) {
  if (!same_warp) return "__syncthreads()";
  return b.warps.size() == 1 ? "__syncwarp()"
                             : "__syncwarp() (or __syncthreads(), where other warps use these elements)";
}

// Two threads store to one element by the same line: most often its index leaves out what tells them apart.
std::string same_element_advice(const Dim3& one, const Dim3& other, bool copies) {
  std::string differ;
  for (const auto& [name, a, b] : {std::tuple{"threadIdx.x", one.x, other.x},
                                   {"threadIdx.y", one.y, other.y},
                                   {"threadIdx.z", one.z, other.z}})
    if (a != b) differ += (differ.empty() ? "" : " and ") + std::string(name);
  return std::string("Both threads ") + (copies ? "copy" : "store") +
         " by this line: in one round the index must tell threads apart that differ in " + differ +
         ", and no barrier helps. Between rounds of a loop, put __syncthreads().";
}

struct SharedAccess {
  Warp& w;
  const Op& op;
  SharedUse use;
  bool synchronises;
  Block& b;
  bool lanes_collide = false;
  uint32_t lane_address = 0;  // of the lane that is looked at

  // A read and another thread's copy into the same place, with no barrier between them. Threads make the same
  // groups of copies, round by round, so the groups that the reader had committed show who was too early.
  // A copy of a group that the reader has not come to refills a stage in use. Else the reader did not wait
  // for the copy. `now`: what the copy is doing, as the reader sees it.
  [[gnu::cold]] void reader_and_copy(uint32_t reader, uint32_t read_op, uint32_t copier, uint32_t copy_op,
                                     uint32_t address, bool refill, const char* now) {
    const Launch& l = *b.launch;
    const bool same_warp = reader / kLanes == copier / kLanes;
    const uint32_t thread = refill ? copier : reader, op = refill ? copy_op : read_op;
    const uint32_t other_op = refill ? read_op : copy_op;
    const Mistake mistake = refill ? Mistake::kCopyOverRead : Mistake::kUseOfUnorderedCopy;
    Finding* f = open_finding(b, thread, op, mistake, other_op, same_warp);
    if (f == nullptr) return;
    f->address = address;
    const std::string place = shared_text(b, address), other = " (" + place_text(l, other_op) + ")";
    f->between = between(same_warp);
    const std::string meet = barrier_text(b, same_warp);
    if (refill) {
      f->message = "thread " + thread_text(l, copier) + " starts an asynchronous copy into " + place +
                   " while thread " + thread_text(l, reader) + " may still read it" + other;
      f->advice = "A stage may be refilled only when every thread is done reading it: put " + meet +
                  " between the last read and this copy.";
    } else {
      f->message = "thread " + thread_text(l, reader) + " reads " + place + " " + now +
                   " the cp.async of thread " + thread_text(l, copier) + " into it" + other +
                   ": nothing orders the two";
      f->advice = "Each thread waits for its own copies, then all meet: wait, " + meet +
                  ", then use. The barrier belongs between the wait and this line.";
    }
  }

  // The group of the copy that the word's last write came from; false where it was a plain store.
  bool copied(uint32_t address, uint32_t stamp, uint32_t* group) const {
    const SharedShadow& sh = b.shadow;
    *group = sh.copy_group[address / 4];
    return sh.copy_who[address / 4] == stamp;
  }
  uint32_t groups_of(int lane) const { return w.async->committed[static_cast<size_t>(lane)]; }
  static bool not_reached(uint32_t group, uint32_t readers_groups) {
    return readers_groups != 0 && group >= readers_groups;  // a reader without copies shows nothing
  }

  // Whether a plain store leaves the bytes of this word or byte as the other thread's store left them.
  bool stores_what_is_there(int lane, uint32_t address) const {
    if (op.cls != InstrClass::kStoreShared && op.cls != InstrClass::kStoreGlobal) return false;
    const uint32_t end = std::min(lane_address + uint32_t{op.access.bytes} * op.access.vec, address + 4);
    for (uint32_t at = address; at < end; ++at) {
      const uint32_t v = (at - lane_address) / op.access.bytes, byte = (at - lane_address) % op.access.bytes;
      const uint32_t reg = op.access.vec == 1 ? op.src[1] : op.list[v];
      if (w.regs[reg + static_cast<uint32_t>(lane) * op.access.reg_bytes + byte] != b.shared[at])
        return false;
    }
    return true;
  }

  [[gnu::cold]] void same_value(int lane, uint32_t address, uint32_t stamp) {
    const auto build = [&](Finding& f) {
      const Launch& l = *b.launch;
      f.address = address;
      f.message = who(w, lane) + " stores in " + shared_text(b, address) + " what thread " +
                  thread_text(l, who_thread(stamp)) + " stores there too (" + place_text(l, who_op(stamp)) +
                  "): the same value, in no order";
      f.advice =
          "The result does not depend on which store comes last. Let one thread store it, to say so and to "
          "save the others' stores.";
    };
    report(w, op, lane, Mistake::kSameValueStored, build, who_op(stamp));
  }

  // Findings are rare: what makes them must not cost the checks below registers.
  [[gnu::cold]] void race(int lane, uint32_t address, uint32_t stamp, uint32_t tick, bool other_writes) {
    const uint32_t thread = who_thread(stamp);
    if (other_writes && checks::unordered_bulk_load(w, op, lane, address, stamp, verb(use))) return;
    if (uint32_t group; use == SharedUse::kRead && other_writes && copied(address, stamp, &group)) {
      reader_and_copy(b.thread_of(w, lane), op.index, thread, who_op(stamp), address,
                      not_reached(group, groups_of(lane)), "after");
      return;
    }
    if (use == SharedUse::kAsyncIssue && !other_writes) {
      const uint32_t readers_groups = b.warps[thread / kLanes].async->committed_by(tick);
      reader_and_copy(thread, who_op(stamp), b.thread_of(w, lane), op.index, address,
                      readers_groups <= groups_of(lane), "before");
      return;
    }
    if (use == SharedUse::kWrite && other_writes && stores_what_is_there(lane, address))
      return same_value(lane, address, stamp);
    const bool same_warp = thread / kLanes == w.id;
    const bool async = use == SharedUse::kAsyncIssue;
    const Mistake mistake = async          ? Mistake::kCopyOverWrite
                            : other_writes ? Mistake::kRaceWithWrite
                                           : Mistake::kRaceWithRead;
    const auto build = [&](Finding& f) {
      const Launch& l = *b.launch;
      f.message = who(w, lane) + " " + verb(use) + " " + shared_text(b, address) +
                  (other_writes ? ", which thread " : " while thread ") + thread_text(l, thread) +
                  (other_writes ? " writes" : " may still read it") + " (" + place_text(l, who_op(stamp)) +
                  ")" + (other_writes ? " with nothing in between that orders the two" : "");
      f.address = address;
      f.between = between(same_warp);
      // An unrolled line is several instructions.
      const bool same_line = place_text(l, op.index) == place_text(l, who_op(stamp));
      if ((async || use == SharedUse::kWrite) && other_writes && same_line && thread != b.thread_of(w, lane))
        f.advice = same_element_advice(thread_index(l, b.thread_of(w, lane)), thread_index(l, thread), async);
      else if (async)
        f.advice =
            "A copy may go only where every thread is done writing: put __syncthreads() between that write "
            "and this copy.";
      else if (same_warp)
        f.advice =
            "Lanes of a warp do not run in step: put " + barrier_text(b, true) + " between the two accesses.";
      else if (synchronises && (stamp & kWhoAtomic))
        f.advice =
            "volatile orders nothing: put __syncthreads() between the two accesses. Only a flag needs no "
            "barrier: a value that decides whether a loop goes on waiting.";
      else
        f.advice =
            "Threads of different warps meet only at a barrier: put __syncthreads() between the two "
            "accesses.";
    };
    // A race between warps says more than one inside a warp.
    report(w, op, lane, mistake, build, who_op(stamp), same_warp);
  }

  [[gnu::cold]] void uninitialised(int lane, uint32_t address, uint32_t bytes) {
    const Origin origin{Mistake::kUnwrittenShared, op.index, b.thread_of(w, lane), address};
    note_unwritten(w, op, lane, origin, address - lane_address, bytes);
  }

  [[gnu::cold]] void in_flight(int lane, uint32_t address, uint32_t stamp) {
    if (checks::use_of_bulk_load(w, op, lane, address, stamp, verb(use))) return;
    const uint32_t thread = who_thread(stamp);
    const bool own = thread == b.thread_of(w, lane);
    // A copy that another thread issued since the last barrier: the barrier is missing, wait or no wait.
    const AsyncCopies& copies = *b.warps[thread / kLanes].async;
    const PendingCopy* copy = nullptr;  // the newest that may be meant
    for (const PendingCopy& p : copies.pending)
      if (p.op == who_op(stamp) && (p.lanes >> (thread % kLanes) & 1) &&
          address / 4 - p.dst[thread % kLanes] / 4 < p.bytes / 4u && (!copy || p.tick >= copy->tick))
        copy = &p;
    const bool met = own || ordered(b, w, lane, copy ? copy->tick : 0, stamp);
    if (!met && use == SharedUse::kRead) {
      reader_and_copy(b.thread_of(w, lane), op.index, thread, who_op(stamp), address,
                      copy != nullptr && not_reached(copy->group[thread % kLanes], groups_of(lane)),
                      "during");
      return;
    }
    const Mistake mistake = own   ? Mistake::kUseOfOwnCopy
                            : met ? Mistake::kUseOfOtherCopy
                                  : Mistake::kUseOfUnorderedCopy;
    const auto build = [&](Finding& f) {
      const Launch& l = *b.launch;
      f.message =
          who(w, lane) + " " + verb(use) + " " + shared_text(b, address) + " while " +
          (own ? std::string("its own cp.async") : "the cp.async of thread " + thread_text(l, thread)) +
          " into it (" + place_text(l, who_op(stamp)) + ") is still in flight";
      if (!met)
        f.advice = "Each thread waits for its own copies, then all meet: wait, __syncthreads(), then use.";
      else if (copy != nullptr)
        f.advice = early_use_advice(l, copies, *copy, static_cast<int>(thread % kLanes));
      f.address = address;
    };
    report(w, op, lane, mistake, build, who_op(stamp));
  }
};

}  // namespace
}  // namespace vgpu
