#include "checks/async_findings.h"

#include <set>
#include <string_view>

#include "checks/barrier_advice.h"
#include "checks/report.h"
#include "exec/async_detail.h"

namespace vgpu::checks {
namespace {

std::string_view opcode(const Block& b, uint32_t op) {
  return b.launch->kernel.origins[op].opcode;
}

bool is_bulk(const Block& b, uint32_t stamp) {
  return opcode(b, who_op(stamp)).starts_with("cp.async.bulk");
}

const char* text(BulkOver over) {
  switch (over) {
    case BulkOver::kCopyInFlight:
      return "has another copy in flight into it";
    case BulkOver::kAsyncRead:
      return "has it read asynchronously";
    case BulkOver::kRead:
      return "may still read it";
    case BulkOver::kWrite:
      return "may still write it";
    case BulkOver::kAtomic:
      return "may still update it";
    case BulkOver::kBrought:
      break;  // see bulk_over_neighbour
  }
  return "";
}

std::string behind(const Block& b, uint32_t op) {
  return " (" + place_text(*b.launch, op) + ")";
}

// "lacks 1 of 4 arrivals and 2048 of 4096 bytes".
std::string lacking(const Mbarrier& m) {
  std::string text;
  if (m.pending > 0) text = "lacks " + std::to_string(m.pending) + " of " + count_of(m.count, "arrival");
  if (m.bytes > 0)
    text += (text.empty() ? "lacks " : " and ") + std::to_string(m.bytes) + " of " +
            bytes_text(static_cast<uint64_t>(m.expected_bytes));
  if (m.bytes < 0)
    text += (text.empty() ? "" : ", and ") + ("got " + bytes_text(static_cast<uint64_t>(-m.bytes))) +
            " more than the " + std::to_string(m.expected_bytes) + " that expect_tx announced";
  return text;
}

std::string barrier_text(const Block& b, uint32_t address) {
  return "the mbarrier " + shared_text(b, address);
}

// Whose barrier it is, where it belongs to another block.
std::string of_block(const Warp& w, const Block& at) {
  return &at == w.block ? "" : " of block " + std::to_string(at.cluster_rank) + " of the cluster";
}

std::string remote_use(Warp& w, int lane, const Block& at, uint32_t address, const Mbarrier& m) {
  return who(w, lane) + " of block " + std::to_string(w.block->cluster_rank) + " uses " +
         barrier_text(at, address) + of_block(w, at) + ", which thread " +
         thread_text(*at.launch, who_thread(m.init_who)) + " there initialises" +
         behind(at, who_op(m.init_who));
}

const BulkLoad* load_into(const Block& b, uint32_t address) {
  if (!b.unit) return nullptr;
  for (const BulkLoad& load : b.unit->loads)
    for (const BulkPart& p : load.parts)
      if (address >= p.shared / 4 * 4 && address < p.shared + p.bytes) return &load;
  return nullptr;
}

// Why the thread went on although the copy's phase is not over.
std::string bulk_advice(const Warp& w, const BulkLoad& load) {
  const Block& b = *w.block;
  const MbarrierWait& wait = b.unit->waits[w.id];
  const auto found = b.unit->barriers.find(load.barrier);
  const std::string name = shared_text(b, load.barrier);
  if (found == b.unit->barriers.end()) return "Its mbarrier is gone: let the barrier live until the wait.";
  const Mbarrier& m = found->second;
  const std::string right = std::to_string(load.barrier_phase & 1);
  if (m.phase != load.barrier_phase)
    return "The phase of " + name +
           " ended without the copy's bytes: announce them before the last arrival, " +
           "with mbarrier.arrive.expect_tx (" + bytes_text(load.bytes) + ").";
  if (m.expected_bytes == 0 && load.bytes > 0 && m.phase > 0)
    return "No arrival has announced the copy's bytes, so the phase before ended without them: arrive with "
           "mbarrier.arrive.expect_tx (" +
           bytes_text(load.bytes) + ") before the copy.";
  if (wait.op != ~0u && wait.barrier == load.barrier && wait.by_parity && wait.wanted != (m.phase & 1))
    return "This warp's latest wait (" + place_text(*b.launch, wait.op) + ") was for parity " +
           std::to_string(wait.wanted) +
           ", which is true until the phase under way ends: the copy's phase is " +
           std::to_string(load.barrier_phase) + ", so wait for parity " + right + ".";
  return "Wait for the copy first: loop on mbarrier.try_wait.parity of " + name + " with parity " + right +
         " until it is true.";
}

}  // namespace

void no_mbarrier(Warp& w, const Op& op, int lane, const Block& at, uint32_t address) {
  report(w, op, lane, Mistake::kBarrierNotInitialised, [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " uses " + barrier_text(at, address) + of_block(w, at) +
                ", which no thread has initialised (or which was invalidated)";
    f.advice =
        "Let one thread run mbarrier.init (or init() of cuda::barrier) first, then __syncthreads(). Check "
        "that "
        "all use the same address.";
    if (&at != w.block)
      f.advice = "Let one thread of that block run mbarrier.init, then let all blocks meet: cluster.sync().";
  });
}

void mbarrier_init_unordered(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m) {
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " uses " + barrier_text(*w.block, address) + ", which thread " +
                thread_text(*w.block->launch, who_thread(m.init_who)) + " initialises" +
                behind(*w.block, who_op(m.init_who)) + ": nothing orders the two";
    f.advice = "Put __syncthreads() between mbarrier.init and the first use by other threads.";
  };
  report(w, op, lane, Mistake::kBarrierInitUnordered, build, who_op(m.init_who));
}

void remote_init_unordered(Warp& w, const Op& op, int lane, const Block& at, uint32_t address,
                           const Mbarrier& m) {
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = remote_use(w, lane, at, address, m) + ": nothing orders the two";
    f.advice =
        "Let the blocks meet between mbarrier.init and the first use by another block: "
        "fence.mbarrier_init.release.cluster, then cluster.sync(). __syncthreads() orders one block alone.";
  };
  report(w, op, lane, Mistake::kBarrierInitUnordered, build, who_op(m.init_who));
}

void init_not_released(Warp& w, const Op& op, int lane, const Block& at, uint32_t address,
                       const Mbarrier& m) {
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = remote_use(w, lane, at, address, m) +
                ": the cluster's barrier between the two was met by a relaxed arrival, which shows other "
                "blocks nothing";
    f.advice =
        "Let the thread that runs mbarrier.init run fence.mbarrier_init.release.cluster behind it, or arrive "
        "at the barrier by barrier.cluster.arrive.release, as cluster.sync() does.";
  };
  report(w, op, lane, Mistake::kBarrierInitNotReleased, build, who_op(m.init_who));
}

void mbarrier_count(Warp& w, const Op& op, int lane, uint32_t address, uint32_t count) {
  report(w, op, lane, Mistake::kBarrierOperands, [&](Finding& f) {
    f.message = barrier_text(*w.block, address) + " is initialised for " + std::to_string(count) +
                " arrivals: 1 to 1048575 are possible";
    f.advice = "The count is the number of arrivals that end a phase: one for each thread that arrives.";
  });
}

void mbarrier_in_use(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, bool by_init) {
  report(w, op, lane, Mistake::kBarrierInUse, [&](Finding& f) {
    f.address = address;
    const std::string lacks = lacking(m);
    f.message = who(w, lane) + (by_init ? " initialises " : " invalidates ") +
                barrier_text(*w.block, address) + " while it is in use: phase " + std::to_string(m.phase) +
                " " + (lacks.empty() ? "has threads that wait or copies under way" : lacks);
    f.advice = "Let every thread come past its last wait first: put __syncthreads() before this line.";
  });
}

void too_many_arrivals(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, uint32_t count) {
  report(w, op, lane, Mistake::kTooManyArrivals, [&](Finding& f) {
    f.address = address;
    f.message =
        who(w, lane) + " arrives with a count of " + std::to_string(count) + " at " +
        barrier_text(*w.block, address) + ", whose phase " + std::to_string(m.phase) +
        (m.pending == 0 ? " has had all of its " : " lacks only " + std::to_string(m.pending) + " of ") +
        count_of(m.count, "arrival") + (m.pending == 0 && m.bytes > 0 ? " and waits for bytes" : "");
    const Launch& launch = *w.block->launch;  // a loop may have been unrolled: one line, several instructions
    if (m.last_arrive_op != ~0u && place_text(launch, m.last_arrive_op) == place_text(launch, op.index))
      f.advice = round_ahead(w, m.phase + 1);
    if (!f.advice.empty()) return;
    const uint32_t thread = make_who(w.block->thread_of(w, lane), op.index, false);
    if (m.arrival_phase == m.phase && m.arrival_who == thread) {
      f.advice =
          "It has arrived in this phase before, on the same line, and the phase is not over: it is a round "
          "ahead. Let it wait first until the stage is free, for the mbarrier at which the stage's users "
          "arrive.";
      return;
    }
    f.advice =
        op.mbarrier->expects
            ? "mbarrier.arrive.expect_tx arrives, too: let one thread alone announce the bytes of all "
              "copies of a phase, or give mbarrier.init the number of all that do."
            : "Give mbarrier.init the number of all arrivals of a phase: of every thread that arrives.";
  });
}

void too_many_lanes_arrive(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m,
                           uint32_t lanes) {
  report(w, op, lane, Mistake::kTooManyArrivals, [&](Finding& f) {
    f.address = address;
    f.message = std::to_string(lanes) + " lanes of warp " + std::to_string(w.id) + " arrive at " +
                barrier_text(*w.block, address) + " at once, whose phase " + std::to_string(m.phase) +
                " lacks only " + std::to_string(m.pending) + " of " + count_of(m.count, "arrival");
    f.advice =
        "Each lane's arrival counts: let one lane arrive for its warp, behind a __syncwarp(), or give "
        "mbarrier.init the number of all lanes.";
  });
}

void no_complete_completes(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m) {
  report(w, op, lane, Mistake::kTooManyArrivals, [&](Finding& f) {
    f.message = who(w, lane) + " completes phase " + std::to_string(m.phase) + " of " +
                barrier_text(*w.block, address) + " by an arrival with .noComplete, which must not";
    f.advice = "Use mbarrier.arrive without .noComplete for the last arrival of a phase.";
  });
}

bool use_of_bulk_load(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, const char* verb) {
  Block& b = *w.block;
  if (!is_bulk(b, stamp)) return false;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " " + verb + " " + shared_text(b, address) +
                " while the bulk copy of thread " + thread_text(*b.launch, who_thread(stamp)) + " into it" +
                behind(b, who_op(stamp)) + " is still in flight";
    const BulkLoad* load = load_into(b, address);
    f.advice = load != nullptr ? bulk_advice(w, *load) : "Wait for the copy's mbarrier first.";
  };
  report(w, op, lane, Mistake::kUseOfBulkLoad, build, who_op(stamp));
  return true;
}

bool unordered_bulk_load(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp,
                         const char* verb) {
  Block& b = *w.block;
  if (!is_bulk(b, stamp)) return false;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " " + verb + " " + shared_text(b, address) +
                ", which the bulk copy of thread " + thread_text(*b.launch, who_thread(stamp)) + " fills" +
                behind(b, who_op(stamp)) + ", without a wait for the copy's mbarrier";
    f.advice =
        "Only a thread that waits for the mbarrier sees the bytes: let each thread wait, or let one wait and "
        "put a barrier behind it.";
  };
  report(w, op, lane, Mistake::kUseOfBulkLoad, build, who_op(stamp));
  return true;
}

void overwrites_async_read(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp) {
  Block& b = *w.block;
  const auto build = [&](Finding& f) {
    const std::string name = async_name(b, who_op(stamp));
    f.address = address;
    f.message = who(w, lane) + " writes " + shared_text(b, address) + " while the " + name + " of thread " +
                thread_text(*b.launch, who_thread(stamp)) + behind(b, who_op(stamp)) + " may still read it";
    f.advice = name == "wgmma"
                   ? "Wait for its group first: wgmma.commit_group, wgmma.wait_group."
                   : "Let the thread that issued it commit and wait first: cp.async.bulk.commit_group, "
                     "cp.async.bulk.wait_group.read 0, then a barrier.";
  };
  report(w, op, lane, Mistake::kWriteOverAsyncRead, build, who_op(stamp));
}

void bulk_over_use(Warp& w, const Op& op, int lane, uint32_t address, Stamp use, BulkOver over,
                   const BulkLoad& load) {
  Block& b = *w.block;
  const uint32_t stamp = use.who;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " starts a bulk copy into " + shared_text(b, address) + " while thread " +
                thread_text(*b.launch, who_thread(stamp)) + " " + text(over) + behind(b, who_op(stamp));
    f.advice =
        "A stage may be filled again only when all are done with it: let its users arrive at an mbarrier, "
        "and "
        "wait for that one before the copy.";
    const std::string why = over == BulkOver::kCopyInFlight ? round_ahead(w, load.barrier_phase + 1)
                            : use.tick != 0                 ? early_copy_advice(w, load, use)
                                                            : "";
    if (!why.empty()) f.advice = why;
  };
  report(w, op, lane, Mistake::kBulkOverUse, build, who_op(stamp));
}

void bulk_over_neighbour(Warp& w, const Op& op, int lane, const Block& to, uint32_t address, uint32_t stamp,
                         BulkOver over) {
  Block& b = *w.block;
  const auto build = [&](Finding& f) {
    const std::string there = "block " + std::to_string(to.cluster_rank);
    f.address = address;
    f.between = "blocks";
    const std::string copy = "the " + async_name(b, who_op(stamp)) + behind(b, who_op(stamp));
    const std::string thread =
        "while thread " + thread_text(*b.launch, who_thread(stamp)) + " there " + text(over);
    f.message = who(w, lane) + " of block " + std::to_string(b.cluster_rank) +
                " of the cluster starts a copy into " + shared_text(to, address) + " of " + there + ", ";
    f.message += over == BulkOver::kCopyInFlight ? "into which " + copy + " is under way"
                 : over == BulkOver::kBrought
                     ? "whose threads may not have read yet what " + copy + " has brought"
                     : thread + behind(b, who_op(stamp));
    f.advice =
        "A stage of another block may be filled again only when that block's threads are done with it: "
        "let them arrive at an mbarrier of this block, too (mapa, mbarrier.arrive.shared::cluster), "
        "and wait for that one before the copy.";
  };
  report(w, op, lane, Mistake::kBulkOverNeighbour, build, who_op(stamp));
}

void async_reads_unordered(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp) {
  Block& b = *w.block;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = "the " + async_name(b, op.index) + " of " + who(w, lane) + " reads " +
                shared_text(b, address) + ", which thread " + thread_text(*b.launch, who_thread(stamp)) +
                " writes" + behind(b, who_op(stamp)) + " with nothing in between that orders the two";
    f.advice =
        is_bulk(b, stamp)
            ? "Wait for the mbarrier of that copy first."
            : "Let each writer run fence.proxy.async after its writes, then put a barrier before this line.";
  };
  report(w, op, lane, Mistake::kAsyncReadUnordered, build, who_op(stamp));
}

void async_reads_unwritten(Warp& w, const Op& op, int lane, uint32_t address) {
  report(w, op, lane, Mistake::kUnwrittenShared, [&](Finding& f) {
    f.address = address;
    f.message = "the " + async_name(*w.block, op.index) + " of " + who(w, lane) + " reads " +
                shared_text(*w.block, address) + ", which nothing in the block has written";
    f.advice = "Shared memory starts with arbitrary contents: write every element before it is read.";
  });
}

void missing_proxy_fence(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp,
                         const char* verb) {
  Block& b = *w.block;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = "the " + async_name(b, op.index) + " of " + who(w, lane) + " " + verb + " " +
                shared_text(b, address) + ", which thread " + thread_text(*b.launch, who_thread(stamp)) +
                " wrote by an ordinary store" + behind(b, who_op(stamp)) +
                ": no fence.proxy.async stands between them";
    f.advice =
        "Let each writer run fence.proxy.async.shared::cta after its writes, then put the barrier, then this "
        "line. A barrier alone does not make them visible to the asynchronous proxy.";
  };
  report(w, op, lane, Mistake::kMissingProxyFence, build, who_op(stamp));
}

void ends_before_store(Block& b, const AsyncRead& read) {
  Finding* f = open_finding(b, read.thread, read.op, Mistake::kExitBeforeAsyncRead, kNoOther, 0);
  if (f == nullptr) return;
  f->message = "the block ends while the " + async_name(b, read.op) + " of thread " +
               thread_text(*b.launch, read.thread) + " may still read its shared memory";
  f->advice =
      "Let the thread commit it and wait before the end: cp.async.bulk.commit_group, "
      "cp.async.bulk.wait_group.read 0.";
}

void ends_before_load(Block& b, const BulkLoad& load) {
  Finding* f = open_finding(b, load.thread, load.op, Mistake::kExitBeforeAsyncRead, kNoOther, 0);
  if (f == nullptr) return;
  f->message = "the block ends while the " + async_name(b, load.op) + " of thread " +
               thread_text(*b.launch, load.thread) + " into its shared memory is still in flight";
  f->advice = "Let a thread wait for the copy's mbarrier before the end, or do not start it.";
  const auto found = b.unit->barriers.find(load.barrier);
  if (found == b.unit->barriers.end() || found->second.waited_for) return;
  const std::string name = barrier_name(b, load.barrier);
  f->message += ": no thread has ever waited for its mbarrier, " + name;
  f->advice = "The threads that are to use the copied bytes never wait for " + name +
              ": is their part of the kernel missing? Where nobody uses the bytes, do not start the copy.";
}

std::string async_name(const Block& b, uint32_t op) {
  const std::string_view name = opcode(b, op);
  if (name.starts_with("wgmma")) return "wgmma";
  return name.starts_with("cp.reduce") ? "bulk reduction" : "bulk copy";
}

void missed_phase(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, uint32_t phase) {
  const uint32_t other = m.crowd > 0 ? m.crowd_op : m.expect_op != ~0u ? m.expect_op : kNoOther;
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = who(w, lane) + " waits for the end of phase " + std::to_string(phase) + " of " +
                barrier_text(*w.block, address) +
                ", which ended before it looked, and so did the next: phase " + std::to_string(m.phase) +
                " is under way";
    if (m.crowd > 0) {
      f.message += ". " + count_of(m.crowd, "lane") + " of a warp arrive in one instruction" +
                   behind(*w.block, m.crowd_op) + ", and " + count_of(m.count, "arrival") + " end a phase";
      f.advice =
          "Let one lane arrive for its warp: __syncwarp(), then if (lane == 0). Or give mbarrier.init the "
          "number of all threads that arrive.";
      return;
    }
    f.advice =
        "Nobody may end the next phase before all have seen this one: let the producer wait until the "
        "consumers have freed the stage.";
  };
  report(w, op, lane, Mistake::kMissedPhase, build, other);
}

void descriptor_leaves(Warp& w, const Op& op, const char* operand, uint32_t address) {
  report(w, op, 0, Mistake::kBadDescriptor, [&](Finding& f) {
    f.address = address;
    f.message = "the descriptor of " + std::string(operand) + " leads to " + shared_text(*w.block, address) +
                ", which is in no shared variable of the block";
    f.advice =
        "A descriptor has its start address and both byte offsets divided by 16, in bits 0-13, 16-29 and "
        "32-45: "
        "check the offsets against the layout.";
  });
}

void descriptor_disagrees(Warp& w, const Op& op, const char* operand, uint32_t address, uint8_t swizzle,
                          uint8_t filled, uint32_t filled_by) {
  const auto bytes = [](uint8_t mode) { return std::to_string(16 << mode); };
  const auto build = [&](Finding& f) {
    f.address = address;
    f.message = std::string("the descriptor of ") + operand + " has " +
                (swizzle == 0 ? "no swizzle" : "a swizzle of " + bytes(swizzle) + " bytes") +
                " and disagrees with the tensor map's swizzle: the bulk copy that filled " +
                shared_text(*w.block, address) + behind(*w.block, filled_by) +
                (filled == 0 ? " swizzles nothing" : " swizzles rows of " + bytes(filled) + " bytes");
    f.advice =
        "Give cuTensorMapEncodeTiled the swizzle that the descriptor names in its bits 62 and 63 (1: 128 "
        "bytes, 2: 64, 3: 32, 0: none), or change those bits.";
  };
  report(w, op, 0, Mistake::kDescriptorSwizzle, build, filled_by);
}

void descriptor_base_offset(Warp& w, const Op& op, const char* operand, uint32_t address, uint32_t offset,
                            uint8_t swizzle, uint32_t filled_by) {
  const auto build = [&](Finding& f) {
    const uint32_t pattern = 128u << swizzle;
    f.address = address;
    f.message = std::string("the descriptor of ") + operand + " has a base offset of " +
                std::to_string(offset) + ": its swizzle begins " + std::to_string(offset * 128 % pattern) +
                " bytes past a multiple of " + std::to_string(pattern) +
                ", and that of the bulk copy which filled " + shared_text(*w.block, address) +
                behind(*w.block, filled_by) + " begins at such a multiple";
    f.advice =
        "A tensor copy swizzles by the address itself, wherever its tile begins: bits 49-51 of the "
        "descriptor "
        "are 0 for what it has filled.";
  };
  report(w, op, 0, Mistake::kDescriptorSwizzle, build, filled_by);
}

void partial_warpgroup(Warp& w, const Op& op, uint32_t first_warp, uint32_t warps) {
  report(w, op, 0, Mistake::kPartialWarpgroup, [&](Finding& f) {
    f.message = "wgmma in warp " + std::to_string(w.id) + ": its warpgroup, which begins at warp " +
                std::to_string(first_warp) + ", has only " + count_of(warps, "warp");
    f.advice =
        "A warpgroup is four warps that begin at a multiple of four: launch a multiple of 128 threads.";
  });
}

void different_products(Warp& w, const Op& op, uint32_t other_op) {
  const auto build = [&](Finding& f) {
    f.message = "warp " + std::to_string(w.id) +
                " issues this wgmma where another warp of its warpgroup issues "
                "another one" +
                behind(*w.block, other_op);
    f.advice =
        "All four warps of a warpgroup execute the same wgmma: keep it out of branches that they take apart.";
  };
  report(w, op, 0, Mistake::kPartialWarpgroup, build, other_op);
}

void absent_warps(Block& b, uint32_t first_warp, const GroupProduct& product) {
  const uint32_t thread = (first_warp + static_cast<uint32_t>(std::countr_zero(product.warps))) * kLanes;
  Finding* f = open_finding(b, thread, product.op, Mistake::kPartialWarpgroup, kNoOther, 0);
  if (f == nullptr) return;
  std::string here = lanes_text(product.warps << first_warp),
              absent = lanes_text((15 & ~product.warps) << first_warp);
  here.replace(0, 4, "warp");
  absent.replace(0, 4, "warp");
  f->message = here + " of a warpgroup issue this wgmma, and " + absent + " never come to it";
  f->advice =
      "All four warps of a warpgroup execute the same wgmma: keep it out of branches that they take apart.";
}

void missing_product_fence(Warp& w, const Op& op, uint32_t changed_by) {
  const auto build = [&](Finding& f) {
    if (changed_by == kNoOther) {
      f.message = "the first wgmma of the kernel has no wgmma.fence before it";
      f.advice =
          "Put wgmma.fence.sync.aligned before the first wgmma, and wherever registers of it were changed.";
    } else {
      f.message = "registers of this wgmma were changed" + behind(*w.block, changed_by) +
                  " after the latest wgmma.fence";
      f.advice = "Put wgmma.fence.sync.aligned between the change and the wgmma.";
    }
  };
  report(w, op, 0, Mistake::kMissingProductFence, build, changed_by);
}

void registers_in_flight(Warp& w, const Op& op, uint32_t product, bool writes, bool is_input) {
  const auto build = [&](Finding& f) {
    f.message = who(w, first_lane(w.exec)) + (writes ? " changes" : " uses") + " a register " +
                (is_input ? "of A" : "of the result") + " of the wgmma" + behind(*w.block, product) +
                " before its group was waited for";
    f.advice =
        "Commit the product and wait first: wgmma.commit_group, wgmma.wait_group N, which leaves the newest "
        "N groups in flight.";
  };
  report(w, op, first_lane(w.exec), Mistake::kRegistersInFlight, build, product);
}

void no_such_block(Warp& w, const Op& op, int lane, uint32_t rank, uint32_t count) {
  report(w, op, lane, Mistake::kNoSuchBlock, [&](Finding& f) {
    f.message = who(w, lane) + " reaches for the shared memory of block " + std::to_string(rank) +
                " of its cluster, which has " + count_of(count, "block");
    f.advice = "Ranks in a cluster count from 0 to cluster_group::num_blocks() - 1.";
  });
}

void block_has_exited(Warp& w, const Op& op, int lane, uint32_t rank) {
  report(w, op, lane, Mistake::kBlockHasExited, [&](Finding& f) {
    f.message = who(w, lane) + " reaches for the shared memory of block " + std::to_string(rank) +
                " of its cluster, whose threads have all exited";
    f.advice = "Let all blocks meet before any of them ends: cluster.sync() behind the last remote access.";
  });
}

std::string mbarrier_standings(const Block& b) {
  if (!b.unit) return "";
  std::string text;
  std::set<uint32_t> reported;
  for (size_t i = 0; i < b.warps.size(); ++i) {
    const MbarrierWait& wait = b.unit->waits[i];
    if (!wait.failed || b.warps[i].live() == 0 || !reported.insert(wait.barrier).second) continue;
    const auto found = b.unit->barriers.find(wait.barrier);
    if (found == b.unit->barriers.end()) continue;
    const Mbarrier& m = found->second;
    uint32_t waiting = 0;
    for (size_t k = 0; k < b.warps.size(); ++k)
      if (b.unit->waits[k].failed && b.unit->waits[k].barrier == wait.barrier) waiting |= 1u << k;
    std::string warps = lanes_text(waiting);
    warps.replace(0, 4, "warp");
    text += "; the mbarrier " + barrier_name(b, wait.barrier) + " is in phase " + std::to_string(m.phase);
    const std::string lacks = lacking(m);
    if (!lacks.empty()) text += ", which " + lacks;
    text += "; " + warps + (waiting & (waiting - 1) ? " wait" : " waits") + " for the end of ";
    text += wait.by_parity ? "a phase of parity " + std::to_string(wait.wanted)
                           : "phase " + std::to_string(wait.wanted);
  }
  return text;
}

}  // namespace vgpu::checks
