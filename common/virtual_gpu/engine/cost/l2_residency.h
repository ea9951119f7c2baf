// What earlier launches left in L2: a launch that reads it need not go to DRAM.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <unordered_map>
#include <vector>

#include "exec/sectors.h"

namespace vgpu {

class L2Residency {
 public:
  explicit L2Residency(double bytes) : capacity_(static_cast<uint64_t>(bytes / 32)) {}

  // Sectors of these that are still there.
  uint64_t present(const SectorMap& sectors) const;
  // Basic blocks of the kernel that warps have run: their machine code is in a cache.
  const std::set<uint32_t>& code_of(const void* kernel) { return codes_[kernel]; }
  // A launch has loaded and stored these; the oldest go when there is no more room.
  void touch(const SectorMap& loads, const SectorMap& stores);
  void touch_code(const void* kernel, const std::set<uint32_t>& blocks) {
    codes_[kernel].insert(blocks.begin(), blocks.end());
  }
  // A copy or a fill has gone through.
  void pass(uint64_t bytes);
  void clear();

 private:
  using Page = std::vector<uint64_t>;
  struct Footprint {
    std::unordered_map<uint64_t, Page> pages;  // none: nobody will ask for it again
    uint64_t sectors = 0;
  };
  void add(Footprint footprint);

  uint64_t capacity_, used_ = 0;  // sectors
  std::deque<Footprint> recent_;  // oldest first
  std::unordered_map<const void*, std::set<uint32_t>> codes_;
};

}  // namespace vgpu
