// Addresses that a graph keeps for memory it allocates when it runs.
#pragma once

#include <cstdint>
#include <string>

#include "protocol.h"

namespace vgpu {

class DeviceMemory;

// Shared by whatever may still need the addresses: the graph, what was instantiated from it, launches of it
// that are queued, and memory that is allocated there. They go back when the last of these is gone.
struct Reservation {
  Reservation(DeviceMemory& owner, uint64_t first, uint64_t size, std::string called)
      : memory(owner), base(first), bytes(size), name(std::move(called)) {}
  ~Reservation();
  Reservation(const Reservation&) = delete;
  bool contains(uint64_t address) const { return address - base < bytes; }

  DeviceMemory& memory;
  const uint64_t base, bytes;
  const std::string name;
  wire::CodePlace reserved_by{};
  bool allocated = false;  // once everything that is queued has run
};

}  // namespace vgpu
