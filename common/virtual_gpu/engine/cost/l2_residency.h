// What earlier launches left in L2: a launch that reads it need not go to DRAM.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "exec/sectors.h"

namespace vgpu {

class L2Residency {
 public:
  explicit L2Residency(double bytes) : capacity_(static_cast<uint64_t>(bytes / 32)) {}

  // Sectors of these that are still there.
  uint64_t present(const SectorMap& sectors) const;
  bool holds_code(const void* kernel) const { return codes_.count(kernel) != 0; }
  // A launch of the kernel has loaded and stored these; the oldest go when there is no more room.
  void touch(const SectorMap& loads, const SectorMap& stores, const void* kernel);
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
  std::unordered_set<const void*> codes_;
};

}  // namespace vgpu
