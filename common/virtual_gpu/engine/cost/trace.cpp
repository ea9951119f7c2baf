#include "cost/trace.h"

#include <algorithm>
#include <bit>

namespace vgpu {
namespace {

constexpr uint64_t kSampledBlocks = 6;
constexpr size_t kEventsPerBlock = 1u << 16;
constexpr size_t kLeastEventsPerWarp = 1024;
constexpr uint64_t kL1Bytes = 256 * 1024;  // of an SM, shared memory included
constexpr int kSliceShift = 4;             // sectors: neighbouring 512 bytes lie in one slice of L2
constexpr double kGoldenRatio = 0.6180339887498949;

// The i-th number that follows from a seed, with all bits well mixed.
uint64_t mixed(uint64_t seed, uint64_t i) {
  uint64_t x = seed + i * 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

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
      most_events(std::max(kLeastEventsPerWarp, kEventsPerBlock / std::max(1u, warp_count))) {}

// The event of the op that runs now; pieces of one op (fragments of a matrix) add up. Null once the trace is
// long enough.
MemoryEvent* BlockTrace::event_of(uint32_t warp, uint32_t op) {
  WarpTrace& w = warps[warp];
  if (w.cut || w.blocks.empty()) return nullptr;
  if (w.memory.size() > w.blocks.back().memory && w.memory.back().op == op) return &w.memory.back();
  w.memory.push_back({});
  w.memory.back().op = op;
  return &w.memory.back();
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

void BlockTrace::shared(uint32_t warp, uint32_t op, const uint32_t* address, Mask mask, int wavefronts) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  event->wavefronts = narrow(event->wavefronts + static_cast<uint64_t>(wavefronts));
  uint32_t bits = 0;
  for (Mask m = mask; m != 0; m &= m - 1) bits |= address[std::countr_zero(m)];
  if (op >= address_bits.size()) address_bits.resize(op + 1, 0);
  address_bits[op] |= bits;
}

void BlockTrace::local(uint32_t warp, uint32_t op, uint64_t sectors) {
  MemoryEvent* event = event_of(warp, op);
  if (event == nullptr) return;
  event->sectors = narrow(event->sectors + sectors);
  event->lines = narrow(event->lines + (sectors + 3) / 4);
}

LaunchSample::LaunchSample(KernelCode& code, uint64_t blocks, uint32_t warps, uint64_t l1_capacity,
                           uint64_t seed)
    : kernel(code) {
  // The first and the last block, and some between that follow no stride of the grid. With a seed all are
  // drawn, so that a kernel cannot know which of its blocks will be looked at.
  if (seed == 0) linears = {0};
  if (seed == 0 && blocks > 1) linears.push_back(blocks - 1);
  for (uint64_t i = 1; linears.size() < std::min(blocks, kSampledBlocks) && i < 16 * kSampledBlocks; ++i) {
    const double turn = static_cast<double>(i) * kGoldenRatio;
    const uint64_t spread = static_cast<uint64_t>((turn - static_cast<double>(static_cast<uint64_t>(turn))) *
                                                  static_cast<double>(blocks));
    const uint64_t at = seed == 0 ? spread : mixed(seed, i) % blocks;
    if (at < blocks && std::find(linears.begin(), linears.end(), at) == linears.end()) linears.push_back(at);
  }
  std::sort(linears.begin(), linears.end());
  for (size_t i = 0; i < linears.size(); ++i)
    traces.push_back(std::make_unique<BlockTrace>(warps, l1_capacity));
}

uint64_t l1_sectors_per_block(const Profile& profile, uint64_t shared_bytes, int resident_blocks) {
  const uint64_t resident = static_cast<uint64_t>(std::max(1, resident_blocks));
  const uint64_t shared = shared_bytes + static_cast<uint64_t>(profile.reserved_shared_per_block);
  const uint64_t taken = std::min(resident * shared, static_cast<uint64_t>(profile.shared_per_sm));
  return (kL1Bytes - std::min(kL1Bytes, taken)) / 32 / resident;
}

}  // namespace vgpu
