#include "cost/l2_residency.h"

namespace vgpu {

uint64_t L2Residency::present(const SectorMap& sectors) const {
  if (recent_.empty()) return 0;
  uint64_t n = 0;
  sectors.for_each_page([&](size_t page, const std::atomic<uint64_t>* words) {
    Page kept(SectorMap::kWords, 0);
    for (const Footprint& footprint : recent_) {
      const auto found = footprint.pages.find(page);
      if (found == footprint.pages.end()) continue;
      for (size_t i = 0; i < kept.size(); ++i) kept[i] |= found->second[i];
    }
    for (size_t i = 0; i < kept.size(); ++i)
      n += static_cast<uint64_t>(std::popcount(kept[i] & words[i].load(std::memory_order_relaxed)));
  });
  return n;
}

void L2Residency::touch(const SectorMap& loads, const SectorMap& stores) {
  Footprint footprint;
  for (const SectorMap* map : {&loads, &stores})
    map->for_each_page([&](size_t page, const std::atomic<uint64_t>* words) {
      Page& kept = footprint.pages.try_emplace(page, SectorMap::kWords, 0).first->second;
      for (size_t i = 0; i < kept.size(); ++i) {
        const uint64_t bits = words[i].load(std::memory_order_relaxed) & ~kept[i];
        footprint.sectors += static_cast<uint64_t>(std::popcount(bits));
        kept[i] |= bits;
      }
    });
  add(std::move(footprint));
}

void L2Residency::pass(uint64_t bytes) {
  if (!recent_.empty()) add({{}, (bytes + 31) / 32});
}

void L2Residency::clear() {
  recent_.clear();
  codes_.clear();
  used_ = 0;
}

void L2Residency::add(Footprint footprint) {
  constexpr size_t kMostLaunches = 64;
  used_ += footprint.sectors;
  recent_.push_back(std::move(footprint));
  while (!recent_.empty() && (used_ > capacity_ || recent_.size() > kMostLaunches)) {
    used_ -= recent_.front().sectors;
    recent_.pop_front();
  }
}

}  // namespace vgpu
