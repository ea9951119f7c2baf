#include "cost/sample.h"

#include <algorithm>

#include "exec/module.h"

namespace vgpu {
namespace {

constexpr uint64_t kSampledBlocks = 6;
constexpr uint64_t kL1Bytes = 256 * 1024;  // of an SM, shared memory included
constexpr uint64_t kMostCounted = 1 << 14;
constexpr double kGoldenRatio = 0.6180339887498949;

// The i-th number that follows from a seed, with all bits well mixed.
uint64_t mixed(uint64_t seed, uint64_t i) {
  uint64_t x = seed + i * 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// What the sampled blocks' requests came to, of one op or of all.
struct Requests {
  double sectors = 0, misses = 0, fresh = 0, parts = 0;
  void add(const MemoryEvent& e) {
    sectors += e.sectors;
    misses += e.misses;
    fresh += e.fresh;
    parts += e.parts;
  }
};

// Whole numbers that come to a share of what they are taken of.
class Rounded {
 public:
  uint16_t of(double sectors, double share) {
    left_ += sectors * share;
    const uint16_t whole = static_cast<uint16_t>(std::min(sectors, left_));
    left_ -= whole;
    return whole;
  }

 private:
  double left_ = 0;
};

}  // namespace

LaunchSample::LaunchSample(KernelCode& code, uint64_t blocks, uint32_t warps, uint64_t l1_capacity,
                           uint64_t seed)
    : kernel(code),
      instructions(blocks <= kMostCounted ? blocks : 0),
      weights(instructions.size()),
      warps_(warps) {
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
  for (size_t i = 0; i < linears.size(); ++i) {
    traces.push_back(std::make_unique<BlockTrace>(warps, l1_capacity));
    traces.back()->entered.resize(code.block_count);
  }
}

BlockTrace& LaunchSample::started(uint64_t linear) {
  for (size_t i = 0; i < linears.size(); ++i)
    if (linears[i] == linear) return *traces[i];
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spare_.empty()) spare_.push_back(std::make_unique<BlockTrace>(BlockTrace::outline_of(warps_)));
  running_.push_back(std::move(spare_.back()));
  spare_.pop_back();
  return *running_.back();
}

void LaunchSample::ended(BlockTrace& trace, uint64_t linear) {
  const uint64_t weight = trace.weight();
  const std::lock_guard<std::mutex> lock(mutex_);
  total_weight += weight;
  polled_instructions += trace.polled_instructions;
  if (!instructions.empty()) {
    instructions[linear] = trace.instructions;
    weights[linear] = weight;
  }
  if (!trace.is_outline) return;
  const auto at = std::find_if(running_.begin(), running_.end(), [&](auto& r) { return r.get() == &trace; });
  std::unique_ptr<BlockTrace> outline = std::move(*at);
  running_.erase(at);
  const bool first = heaviest == nullptr;
  if (first || weight > heaviest_weight || (weight == heaviest_weight && linear < heaviest_linear)) {
    heaviest.swap(outline);
    heaviest_weight = weight;
    heaviest_linear = linear;
  }
  if (outline == nullptr) return;
  outline->clear();
  spare_.push_back(std::move(outline));
}

const BlockTrace* LaunchSample::heavier() const {
  if (heaviest == nullptr) return nullptr;
  for (const auto& trace : traces)
    if (trace->weight() >= heaviest_weight) return nullptr;
  return heaviest.get();
}

BlockTrace filled_in(const BlockTrace& outline, const LaunchSample& sample, double least_missed) {
  std::vector<Requests> by_op(sample.kernel.origins.size());
  Requests all;  // but stores and atomics
  for (const auto& trace : sample.traces)
    for (const WarpTrace& w : trace->warps)
      for (const MemoryEvent& e : w.memory) {
        by_op[e.op].add(e);
        if (e.misses > 0 || sample.kernel.origins[e.op].opcode.starts_with("ld")) all.add(e);
      }
  // Sampled blocks that keep reading the same have found more in L1 than the launch can have.
  const double seen = all.sectors > 0 ? all.misses / all.sectors : 1;
  const double raised = seen > 0 ? std::max(1.0, least_missed / seen) : 1;
  BlockTrace out = outline;
  std::vector<Rounded> misses(by_op.size()), fresh(by_op.size()), parts(by_op.size());
  for (WarpTrace& w : out.warps)
    for (MemoryEvent& e : w.memory) {
      const Requests& r = by_op[e.op];
      const bool known = r.sectors > 0;
      const double missed = known ? std::min(1.0, raised * r.misses / r.sectors) : least_missed;
      e.misses = misses[e.op].of(e.sectors, missed);
      e.fresh = fresh[e.op].of(e.misses, known && r.misses > 0 ? r.fresh / r.misses : 1);
      e.parts = parts[e.op].of(e.sectors, known ? r.parts / r.sectors : 0);
    }
  return out;
}

uint64_t l1_sectors_per_block(const Profile& profile, uint64_t shared_bytes, int resident_blocks) {
  const uint64_t resident = static_cast<uint64_t>(std::max(1, resident_blocks));
  const uint64_t shared = shared_bytes + static_cast<uint64_t>(profile.reserved_shared_per_block);
  const uint64_t taken = std::min(resident * shared, static_cast<uint64_t>(profile.shared_per_sm));
  return (kL1Bytes - std::min(kL1Bytes, taken)) / 32 / resident;
}

}  // namespace vgpu
