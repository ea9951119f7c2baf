// Which volatile and relaxed accesses are flags. Formally such accesses never race with each other, but most
// of those in students' kernels are data that a barrier was forgotten for. What a kernel does with the value
// tells them apart: a flag decides whether a loop goes on, or at least which way a branch goes; data is
// computed with.
#pragma once

#include <cstdint>

namespace vgpu {

class ModuleImage;
struct KernelCode;

enum FlagUse : uint8_t {
  kStrong = 1,    // a volatile, relaxed, acquire or release access, or an atomic
  kWaits = 2,     // its value decides whether a loop around it goes on: a load, a clock, an atomic that spins
  kDecides = 4,   // load: its value goes into branches and into comparisons of atomicCAS alone
  kConstant = 8,  // store: of a value that the code spells out
  kAtomic = 16,
  kCounts = 32,  // atomic: adds, takes a minimum …, whatever was there before
  kOrders = 64,  // ld.acquire or st.release: the code says itself that it is a flag
};

// Fills `kernel.flag_use`.
void find_flags(const ModuleImage& module, KernelCode& kernel);

// Two strong accesses to one place that nothing orders: whether one of them is meant to see the other at any
// time. `first` and `second` are FlagUse bits of the earlier and of the later access.
inline bool may_meet(uint8_t first, bool first_writes, uint8_t second, bool second_writes) {
  if (first & second & kAtomic) return true;
  if (first_writes && second_writes) {
    if (second & kAtomic)
      return !(second & kCounts);  // a lock is taken by a swap; a count begins with the store
    return (first & kAtomic) || (first & second & kConstant);
  }
  if (first & second & kOrders) return true;
  const uint8_t load = first_writes ? second : first, write = first_writes ? first : second;
  return (load & kWaits) || ((load & kDecides) && (write & (kAtomic | kConstant)));
}

}  // namespace vgpu
