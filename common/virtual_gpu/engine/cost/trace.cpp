#include "cost/trace.h"

#include <algorithm>
#include <bit>

namespace vgpu {
namespace {

constexpr int64_t kEventsPerBlock = 1 << 16;
constexpr int64_t kLeastEventsPerWarp = 1024;
constexpr int64_t kOutlineEventsPerBlock = 1 << 13, kLeastOutlineEventsPerWarp = 128;
// Cycles, for weights: an instruction of one warp, a trip to memory and an instruction of a full SM.
constexpr uint64_t kInstructionCycles = 4, kTripCycles = 600, kIssuesPerCycle = 4;
// Events and instructions between two rounds of a loop that does nothing but wait. What is left out of a
// trace costs no time, so it is little: work must not hide between two questions.
constexpr size_t kMostPollEvents = 4;
constexpr uint64_t kMostPollInstructions = 16;
constexpr uint64_t kPolledOfAll = 8;      // one in so many of a block's instructions,
constexpr uint64_t kPolledAlways = 2048;  // and so many in any case
constexpr int kSliceShift = 4;            // sectors: neighbouring 512 bytes lie in one slice of L2

uint16_t narrow(uint64_t n) {
  return static_cast<uint16_t>(std::min<uint64_t>(n, 0xffff));
}

// The words of a line are updated side by side; lanes that meet in one take turns.
struct Turns {
  uint64_t lines = 0;    // turns of each line, added up
  uint64_t sectors = 0;  // the same, times the sectors of the line
};

Turns turns_of(const uint64_t* address, Mask mask) {
  uint64_t words[kLanes];
  size_t n = 0;
  for (Mask m = mask; m != 0; m &= m - 1) words[n++] = address[std::countr_zero(m)] >> 2;
  std::sort(words, words + n);
  Turns turns;
  uint64_t most = 0, here = 0, sectors = 0;
  for (size_t i = 0; i < n; ++i) {
    here = i > 0 && words[i] == words[i - 1] ? here + 1 : 1;
    most = std::max(most, here);
    sectors += i == 0 || words[i] >> 3 != words[i - 1] >> 3;
    if (i + 1 < n && words[i + 1] >> 5 == words[i] >> 5) continue;
    turns.lines += most;
    turns.sectors += most * sectors;
    most = sectors = 0;
  }
  return turns;
}

}  // namespace

uint64_t SectorClock::touch(uint64_t sector) {
  if (entries_.empty() || used_ * 2 >= entries_.size()) grow();
  const uint64_t mask = entries_.size() - 1;
  uint64_t at = sector * 0x9e3779b97f4a7c15ull >> 20 & mask;
  while (entries_[at].sector != sector && entries_[at].sector != ~0ull) at = (at + 1) & mask;
  Entry& e = entries_[at];
  const bool fresh = e.sector == ~0ull;
  const uint64_t since = fresh ? ~0ull : now_ - e.when;
  used_ += fresh;
  e = {sector, ++now_};
  return since;
}

void SectorClock::grow() {
  std::vector<Entry> old(std::max<size_t>(256, entries_.size() * 4));
  old.swap(entries_);
  const uint64_t mask = entries_.size() - 1;
  for (const Entry& e : old) {
    if (e.sector == ~0ull) continue;
    uint64_t at = e.sector * 0x9e3779b97f4a7c15ull >> 20 & mask;
    while (entries_[at].sector != ~0ull) at = (at + 1) & mask;
    entries_[at] = e;
  }
}

BlockTrace::BlockTrace(uint32_t warp_count, uint64_t capacity)
    : warps(warp_count),
      l1_capacity(capacity),
      most_events(std::max(kLeastEventsPerWarp, kEventsPerBlock / std::max<int64_t>(1, warp_count))) {
  clear();
}

BlockTrace BlockTrace::outline_of(uint32_t warps) {
  BlockTrace outline(warps, 0);
  outline.is_outline = true;
  outline.most_events =
      std::max(kLeastOutlineEventsPerWarp, kOutlineEventsPerBlock / std::max<int64_t>(1, warps));
  outline.clear();
  return outline;
}

void BlockTrace::clear() {
  for (WarpTrace& w : warps) {
    w.blocks.clear();
    w.memory.clear();
    w.cut = false;
    w.room = most_events;
    w.instructions = w.traced_instructions = w.asks = w.traced_asks = w.asked_at = w.polled = 0;
    w.failed_wait = {};
  }
  instructions = traced_instructions = polled_instructions = 0;
  arrivals.clear();
  mbarriers_.clear();
  next_mbarrier_ = 0;
  std::ranges::fill(named_phase, 0);
  std::ranges::fill(entered, 0);
}

uint64_t WarpTrace::weight() const {
  return kInstructionCycles * instructions + kTripCycles * asks;
}

const WarpTrace& BlockTrace::longest_warp() const {
  return *std::max_element(warps.begin(), warps.end(),
                           [](const auto& a, const auto& b) { return a.weight() < b.weight(); });
}

uint64_t BlockTrace::weight() const {
  return std::max(longest_warp().weight(), instructions / kIssuesPerCycle);
}

// The event of the op that runs now; pieces of one op (fragments of a matrix) add up. Null once the trace is
// long enough.
MemoryEvent* BlockTrace::event_of(uint32_t warp, uint32_t op) {
  WarpTrace& w = warps[warp];
  if (w.cut || w.blocks.empty()) return nullptr;
  if (w.memory.size() > w.blocks.back().memory && w.memory.back().op == op) return &w.memory.back();
  --w.room;
  MemoryEvent& event = w.memory.emplace_back();
  event.op = op;
  return &event;
}

void BlockTrace::global(uint32_t warp, uint32_t op, const uint64_t* address, uint32_t bytes, Mask mask,
                        TraceAccess how) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  uint64_t sectors[kLanes];
  int n = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const uint64_t s = address[std::countr_zero(m)] >> 5;
    if (n == 0 || sectors[n - 1] != s) sectors[n++] = s;
  }
  if (!std::is_sorted(sectors, sectors + n)) std::sort(sectors, sectors + n);
  n = static_cast<int>(std::unique(sectors, sectors + n) - sectors);
  int lines = 0, misses = 0, fresh = 0;
  bool new_pair = false;
  for (int i = 0; i < n; ++i) {
    lines += i == 0 || sectors[i] >> 2 != sectors[i - 1] >> 2;
    if (how != TraceAccess::kLoad && how != TraceAccess::kAsync) continue;
    if (i == 0 || sectors[i] >> 1 != sectors[i - 1] >> 1)
      new_pair = loaded_pairs.touch(sectors[i] >> 1) == ~0ull;
    const bool missed = loaded.touch(sectors[i]) > l1_capacity;
    misses += missed;
    fresh += missed && new_pair;
  }
  if (how == TraceAccess::kStore) {
    uint32_t stored[kLanes] = {};
    for (Mask m = mask; m != 0; m &= m - 1) {
      const uint64_t s = address[std::countr_zero(m)] >> 5;
      stored[std::lower_bound(sectors, sectors + n, s) - sectors] += bytes;
    }
    event->parts = narrow(event->parts + static_cast<uint64_t>(std::count_if(
                                             stored, stored + n, [](uint32_t b) { return b < 32; })));
  }
  if (how == TraceAccess::kAtomic) {
    for (int i = 0; i < n; ++i) {
      updated.touch(sectors[i]);
      updated_pieces.touch(sectors[i] >> kSliceShift);
    }
    const Turns turns = turns_of(address, mask);
    event->turns = narrow(event->turns + turns.lines);
    event->sector_turns = narrow(event->sector_turns + turns.sectors);
  }
  event->sectors = narrow(event->sectors + static_cast<uint64_t>(n));
  event->lines = narrow(event->lines + static_cast<uint64_t>(lines));
  event->misses = narrow(event->misses + static_cast<uint64_t>(misses));
  event->fresh = narrow(event->fresh + static_cast<uint64_t>(fresh));
}

void BlockTrace::global_outline(uint32_t warp, uint32_t op, uint64_t sectors, uint64_t lines) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  event->sectors = narrow(event->sectors + sectors);
  event->lines = narrow(event->lines + lines);
}

void BlockTrace::shared(uint32_t warp, uint32_t op, const uint32_t* address, Mask mask, int wavefronts) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  event->wavefronts = narrow(event->wavefronts + static_cast<uint64_t>(wavefronts));
  if (is_outline) return;
  uint32_t bits = 0;
  for (int i = 0; i < kLanes; ++i) bits |= address[i] & (0 - (mask >> i & 1));
  if (op >= address_bits.size()) address_bits.resize(op + 1, 0);
  address_bits[op] |= bits;
}

void BlockTrace::local(uint32_t warp, uint32_t op, uint64_t sectors) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  event->sectors = narrow(event->sectors + sectors);
  event->lines = narrow(event->lines + (sectors + 3) / 4);
}

void BlockTrace::bulk(uint32_t warp, uint32_t op, uint64_t address, uint64_t bytes, bool stores) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr || bytes == 0) return;
  // A swizzle leaves pieces of 16 bytes, two of which share a sector.
  const bool begins = event->sectors == 0;
  const uint64_t last = (address + bytes - 1) >> 5;
  uint64_t first = address >> 5;
  if (!begins && first == bulk_sector_) ++first;
  if (first > last) return;
  event->sectors = narrow(event->sectors + last - first + 1);
  const bool same_line = !begins && first >> 2 == bulk_sector_ >> 2;
  event->lines = narrow(event->lines + (last >> 2) - (first >> 2) + 1 - same_line);
  bulk_sector_ = last;
  if (stores) return;
  event->misses = event->sectors;
  if (is_outline) return;
  for (uint64_t pair = first >> 1; pair <= last >> 1; ++pair)
    if (loaded_pairs.touch(pair) == ~0ull)
      event->fresh = narrow(event->fresh + std::min(last, 2 * pair + 1) - std::max(first, 2 * pair) + 1);
}

void BlockTrace::new_mbarrier(uint32_t address) {
  mbarriers_[address] = kNamedBarriers + 1 + next_mbarrier_++;
}

uint32_t BlockTrace::mbarrier(uint32_t address) const {
  const auto found = mbarriers_.find(address);
  return found == mbarriers_.end() ? 0 : found->second;
}

void BlockTrace::arrives(uint32_t warp, uint32_t op, uint32_t barrier, uint32_t phase) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr || barrier == 0 || event->barrier != 0) return;
  event->barrier = narrow(barrier);
  event->phase = static_cast<uint16_t>(phase);
  ++arrivals[phase_key(event->barrier, phase)];
}

void BlockTrace::waited(uint32_t warp, uint32_t op, uint32_t barrier, uint32_t phase) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  event->barrier = narrow(barrier);
  event->phase = static_cast<uint16_t>(phase);
}

void BlockTrace::failed_wait(uint32_t warp, uint32_t block, uint32_t ops) {
  WarpTrace& w = warps[warp];
  w.failed_wait = {block, w.cut ? w.blocks.size() : w.blocks.size() - 1, w.instructions - ops};
}

void BlockTrace::forget_failed_wait(WarpTrace& w) {
  const WarpTrace::FailedWait failed = w.failed_wait;
  w.failed_wait = {};
  const uint64_t passed = w.instructions - failed.instructions;
  if (w.blocks.size() > failed.events + kMostPollEvents || passed > kMostPollInstructions) return;
  if (polled_instructions + passed > kPolledAlways + instructions / kPolledOfAll) return;
  w.instructions -= passed;
  instructions -= passed;
  polled_instructions += passed;
  if (!entered.empty()) entered[failed.block] -= 1;
  if (w.cut) return;
  w.traced_instructions -= passed;
  traced_instructions -= passed;
  for (size_t i = failed.events + 1; i < w.blocks.size() && !entered.empty(); ++i)
    --entered[w.blocks[i].block];
  const uint32_t memory = w.blocks[failed.events].memory;
  w.room += static_cast<int64_t>(w.blocks.size() - failed.events + w.memory.size() - memory);
  w.memory.resize(memory);
  w.blocks.resize(failed.events);
}

}  // namespace vgpu
