// The heap of device code: what malloc and new in a kernel take from. Its size is cudaLimitMallocHeapSize.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "checks/finding.h"

namespace vgpu {

struct Allocation;
class DeviceMemory;

// Kernels that use it run their blocks one after the other, on one thread: there are no locks here.
class DeviceHeap {
 public:
  static constexpr uint64_t kDefaultBytes = 8ull << 20;

  explicit DeviceHeap(DeviceMemory& memory) : memory_(memory) {}
  DeviceHeap(const DeviceHeap&) = delete;

  uint64_t limit() const { return limit_; }
  // False once a kernel has used the heap: its size is then fixed, as on hardware.
  bool set_limit(uint64_t bytes);
  // Takes the heap's share of device memory; before the first kernel that may use it. False when memory is
  // short.
  bool make();

  // An instruction that allocates: named by notes on memory that is never freed.
  struct Site {
    std::vector<SourcePlace> place;
    std::string kernel;
  };
  // The number of a site for allocate(). A launch asks once for each instruction that it meets.
  int site(int launch, uint32_t op, const auto& describe) {
    const auto [known, is_new] = numbers_.try_emplace({launch, op}, static_cast<int>(sites_.size()));
    if (is_new) sites_.push_back(describe());
    return known->second;
  }
  const Site& site(int number) const { return sites_[static_cast<size_t>(number)]; }

  // nullptr when the heap is exhausted. `align` is a power of two.
  Allocation* allocate(uint64_t bytes, uint64_t align, int site);
  // An allocation of this heap that is still there.
  void release(Allocation& allocation, const std::string& where);

  // Everything goes: a reset of the device.
  void clear();
  std::vector<const Allocation*> live() const;

 private:
  uint64_t take(uint64_t bytes, uint64_t align);
  void give_back(uint64_t address, uint64_t bytes);

  DeviceMemory& memory_;
  uint64_t limit_ = kDefaultBytes, used_ = 0;
  uint64_t base_ = 0, bytes_ = 0;       // addresses; more than limit_, because of the guards
  uint64_t cursor_ = 0;                 // the search for room goes on from here: freed memory is reused late
  std::map<uint64_t, uint64_t> holes_;  // address -> bytes; neighbours are merged
  std::map<uint64_t, Allocation*> live_;
  std::map<std::pair<int, uint32_t>, int> numbers_;
  std::vector<Site> sites_;
  uint64_t made_ = 0;
};

}  // namespace vgpu
