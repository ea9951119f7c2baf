#include "checks/barrier_advice.h"

#include <algorithm>
#include <vector>

#include "checks/report.h"

namespace vgpu::checks {
namespace {

// A barrier for which warps of the block wait for ever.
struct Stuck {
  const Block& block;
  const Mbarrier& barrier;
  const MbarrierWait& wait;  // of the first such warp
  uint32_t warps;            // all of them
  std::string name;
};

std::string phase_text(uint32_t phase) {
  return "phase " + std::to_string(phase);
}

uint32_t arriving_threads(const Mbarrier& m) {
  return static_cast<uint32_t>(std::ranges::count_if(m.arrivals, [](uint16_t n) { return n != 0; }));
}

bool nobody_has_arrived(const Mbarrier& m) {
  return m.phase == 0 && m.pending == m.count && m.arrivals.empty() && !m.uncounted;
}

// Warps of which some thread has arrived fewer times than the busiest thread has.
uint32_t warps_behind(const Mbarrier& m) {
  const uint16_t most = *std::ranges::max_element(m.arrivals);
  uint32_t warps = 0;
  for (size_t i = 0; i < m.arrivals.size(); ++i)
    if (m.arrivals[i] != 0 && m.arrivals[i] < most) warps |= 1u << i / kLanes;
  return warps;
}

// Of copies to a barrier that have not arrived.
int64_t bytes_under_way(const Block& b, uint32_t barrier) {
  int64_t bytes = 0;
  for (const BulkLoad& load : b.unit->loads)
    if (load.barrier == barrier) bytes += static_cast<int64_t>(load.bytes);
  return bytes;
}

std::string wrong_bytes(const Stuck& s, const std::vector<Stuck>&) {
  const Mbarrier& m = s.barrier;
  const auto& barriers = s.block.unit->barriers;
  const auto other = std::ranges::find_if(barriers, [&](const auto& each) {
    return m.bytes < 0 ? each.second.bytes > bytes_under_way(s.block, each.first)
                       : m.bytes > 0 && each.second.bytes < 0;
  });
  if (other != barriers.end()) {
    const std::string there = barrier_name(s.block, other->first);
    return "Copies bring their bytes to " + (m.bytes < 0 ? s.name : there) +
           ", and expect_tx announces bytes at " + (m.bytes < 0 ? there : s.name) +
           ", which do not come: give a copy the barrier at which its bytes are announced.";
  }
  if (m.bytes < 0)
    return "The copies bring " + bytes_text(static_cast<uint64_t>(-m.bytes)) + " more to " + s.name +
           " than expect_tx announces: announce what they bring, of a box all its bytes, even where it "
           "leaves the tensor.";
  if (m.bytes == 0 || m.pending != 0 || m.expect_op == ~0u) return "";
  const std::string announced = " (" + place_text(*s.block.launch, m.expect_op) + ")";
  const uint64_t lacks = static_cast<uint64_t>(m.bytes);
  const uint64_t came = static_cast<uint64_t>(m.expected_bytes) - lacks;
  if (came == 0)
    return "expect_tx announces " + bytes_text(lacks) + " at " + s.name + announced +
           ", and no copy that names this barrier was started: start it, or announce nothing.";
  return "expect_tx announces " + bytes_text(lacks) + " more at " + s.name + announced +
         " than the copies bring, which is " + bytes_text(came) +
         ": announce their bytes, or start the copy that is missing.";
}

std::string more_threads_than_counted(const Stuck& s, const std::vector<Stuck>&) {
  const uint32_t threads = arriving_threads(s.barrier);
  if (s.barrier.uncounted || threads <= s.barrier.count) return "";
  return std::to_string(threads) + " threads arrive at " + s.name + ", and mbarrier.init counts " +
         count_of(s.barrier.count, "arrival") +
         ": where all of them arrive in each round, phases end too early, and waits are for the wrong ones. "
         "Init it with " +
         std::to_string(threads) + ".";
}

// One phase is over that a warp has not seen, and it waits for the next.
std::string parity_of_the_next_phase(const Stuck& s, const std::vector<Stuck>&) {
  const Mbarrier& m = s.barrier;
  for (uint32_t left = s.warps; left != 0; left &= left - 1) {
    const size_t warp = static_cast<size_t>(std::countr_zero(left));
    const MbarrierWait& wait = s.block.unit->waits[warp];
    if (!wait.by_parity || m.phase != m.seen[warp] + 1) continue;
    return "Warp " + std::to_string(warp) + " waits at " + s.name + " with parity " +
           std::to_string(wait.wanted) + ", for the end of " + phase_text(m.phase) +
           ", and has not yet seen the end of " + phase_text(m.phase - 1) +
           ", which is over: a wait for that one has parity " + std::to_string(1 - wait.wanted) +
           ". At a warp's first wait the parity is 0, and it changes from round to round.";
  }
  return "";
}

std::string announced_without_arrival(const Stuck& s, const std::vector<Stuck>&) {
  if (!nobody_has_arrived(s.barrier) || s.barrier.expect_op == ~0u) return "";
  return "Bytes are announced at " + s.name + " (" + place_text(*s.block.launch, s.barrier.expect_op) +
         "), and nobody arrives there: mbarrier.expect_tx is no arrival, mbarrier.arrive.expect_tx is both.";
}

// Producer and consumer, each before its first arrival.
std::string both_wait_first(const Stuck& s, const std::vector<Stuck>& all) {
  if (!nobody_has_arrived(s.barrier)) return "";
  for (const Stuck& other : all)
    if (&other != &s && nobody_has_arrived(other.barrier) && s.wait.by_parity)
      return "Each waits for the other, " + warps_text(s.warps) + " at " + s.name + " and " +
             warps_text(other.warps) + " at " + other.name +
             ", and nobody has arrived at either barrier. Whoever fills stages finds them empty in the first "
             "round and must not wait there: a wait for parity 1 is true while phase 0 is under way.";
  return "";
}

std::string fewer_threads_than_counted(const Stuck& s, const std::vector<Stuck>&) {
  const Mbarrier& m = s.barrier;
  const uint32_t threads = arriving_threads(m);
  if (m.uncounted || m.phase != 0 || m.pending == 0 || threads == 0 || threads >= m.count) return "";
  const uint32_t lacks = m.count - threads;
  return "mbarrier.init counts " + count_of(lacks, "arrival") + " more for " + s.name +
         " than threads arrive, which are " + std::to_string(threads) + ": init it with " +
         std::to_string(threads) + ", or let the others arrive. Each thread's arrival counts one.";
}

std::string no_arrival_ever(const Stuck& s, const std::vector<Stuck>&) {
  if (!nobody_has_arrived(s.barrier)) return "";
  uint32_t ended = 0;
  for (const Warp& w : s.block.warps)
    if (w.live() == 0) ended |= 1u << w.id;
  const std::string others = ended == 0 ? "" : ", and " + warps_text(ended) + " ended without it";
  return "No thread has ever arrived at " + s.name + others +
         ": let those arrive for whom this wait is, in each round. Is their part of the kernel missing?";
}

std::string some_have_not_arrived(const Stuck& s, const std::vector<Stuck>&) {
  const Mbarrier& m = s.barrier;
  if (m.uncounted || m.arrivals.empty() || m.pending == 0 || m.pending == m.count) return "";
  const uint32_t behind = warps_behind(m);
  if (behind == 0) return "";
  return "Of the threads that arrive at " + s.name + ", those of " + warps_text(behind) +
         " have not arrived in " + phase_text(m.phase) +
         ": let them go through as many rounds as the others.";
}

std::string a_round_too_many(const Stuck& s, const std::vector<Stuck>&) {
  const Mbarrier& m = s.barrier;
  if (m.uncounted || m.arrivals.empty() || m.pending != m.count || m.phase == 0) return "";
  return "All arrivals at " + s.name + " have come for the " + count_of(m.phase, "phase") +
         " before, and none for this wait: let both sides go through the same number of rounds.";
}

using Guess = std::string (*)(const Stuck&, const std::vector<Stuck>&);
// What leaves least doubt comes first; a wait that another one holds up comes last.
constexpr Guess kGuesses[] = {
    wrong_bytes,      announced_without_arrival,  more_threads_than_counted, parity_of_the_next_phase,
    both_wait_first,  fewer_threads_than_counted, no_arrival_ever,           some_have_not_arrived,
    a_round_too_many,
};

std::vector<Stuck> stuck_barriers(const Block& b) {
  std::vector<Stuck> stuck;
  if (!b.unit) return stuck;
  for (const auto& [address, m] : b.unit->barriers) {
    uint32_t warps = 0;
    for (size_t i = 0; i < b.warps.size(); ++i) {
      const MbarrierWait& wait = b.unit->waits[i];
      if (wait.failed && wait.barrier == address && b.warps[i].live() != 0) warps |= 1u << i;
    }
    if (warps != 0)
      stuck.push_back({b, m, b.unit->waits[std::countr_zero(warps)], warps, barrier_name(b, address)});
  }
  return stuck;
}

std::string latest_wait(const Warp& w) {
  const MbarrierWait& wait = w.block->unit->waits[w.id];
  return "This warp's latest wait (" + place_text(*w.block->launch, wait.op) + ") was for " +
         barrier_name(*w.block, wait.barrier);
}

}  // namespace

std::string warps_text(uint32_t warps) {
  std::string text = lanes_text(warps);  // the same ranges, another noun
  return text.replace(0, 4, "warp");
}

std::string barrier_name(const Block& b, uint32_t address) {
  const std::string name = shared_text(b, address);
  const auto found = b.unit->barriers.find(address);
  if (!name.starts_with("dynamic shared memory") || found == b.unit->barriers.end()) return name;
  return name + " (initialised at " + place_text(*b.launch, who_op(found->second.init_who)) + ")";
}

WaitGuess guess_at_waits(const Block& b) {
  const std::vector<Stuck> stuck = stuck_barriers(b);
  for (const Guess guess : kGuesses)
    for (const Stuck& s : stuck)
      if (std::string text = guess(s, stuck); !text.empty())
        return {std::move(text), static_cast<size_t>(std::countr_zero(s.warps))};
  return {};
}

std::string round_ahead(const Warp& w, uint32_t copies_begun) {
  const Block& b = *w.block;
  const MbarrierWait& wait = b.unit->waits[w.id];
  const auto found = b.unit->barriers.find(wait.barrier);
  if (wait.op == ~0u || !wait.by_parity || found == b.unit->barriers.end()) return "";
  const Mbarrier& m = found->second;
  if (m.uncounted || m.phase >= copies_begun) return "";
  return latest_wait(w) + " with parity " + std::to_string(wait.wanted) + ", which is true while " +
         phase_text(m.phase) + " is under way: before this copy wait for the end of " +
         phase_text(copies_begun - 1) + ", with parity " + std::to_string((copies_begun - 1) & 1) + ".";
}

std::string early_copy_advice(const Warp& w, const BulkLoad& load, Stamp use) {
  const Block& b = *w.block;
  const MbarrierWait& wait = b.unit->waits[w.id];
  const auto found = b.unit->barriers.find(wait.barrier);
  if (wait.op == ~0u || found == b.unit->barriers.end()) return "";
  const Mbarrier& m = found->second;
  const std::string latest = latest_wait(w);
  if (wait.barrier == load.barrier)
    return latest +
           ", where the copies arrive: wait for a barrier at which the threads arrive that have read the "
           "stage.";
  if (m.uncounted) return "";
  if (std::string text = round_ahead(w, load.barrier_phase); !text.empty()) return text;
  // A product is one of four warps, and so is its end: any of them may tell.
  const bool product = b.launch->kernel.origins[who_op(use.who)].opcode.starts_with("wgmma");
  const uint32_t warps = product ? kWarpsOfGroup : 1;
  const uint32_t warp = who_thread(use.who) / kLanes / warps * warps;
  const std::string user =
      product ? "the warpgroup of " + warps_text(15u << warp) : "warp " + std::to_string(warp);
  if (const uint32_t threads = arriving_threads(m); threads > m.count)
    return latest + ", at which " + std::to_string(threads) + " threads arrive while mbarrier.init counts " +
           count_of(m.count, "arrival") + ": its phase ends before the last of them is done. Init it with " +
           std::to_string(threads) + ".";
  const auto first = m.arrivals.begin() + std::min<size_t>(warp * kLanes, m.arrivals.size());
  const auto last = m.arrivals.begin() + std::min<size_t>((warp + warps) * kLanes, m.arrivals.size());
  if (std::all_of(first, last, [](uint16_t n) { return n == 0; }))
    return latest + ", at which no thread of " + user + " arrives: let one arrive there for each " +
           (product ? "warpgroup" : "warp") + " that uses the stage, behind its last use.";
  if (product && use.tick >= *std::max_element(&m.last_arrival[warp], &m.last_arrival[warp] + warps))
    return latest + ", and " + user + " arrived there before its product was over: put the arrival behind " +
           "wgmma.wait_group, which waits for what all four warps read.";
  if (!product && use.tick >= m.last_arrival[warp])
    return latest + ", and " + user + " arrived there before it was done: put __syncwarp() and the arrival " +
           "behind the warp's last use of the stage.";
  return "";
}

}  // namespace vgpu::checks
