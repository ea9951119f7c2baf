// Device memory: one shared-memory arena at a fixed address, an allocator that leaves a guard between
// neighbours, and for each allocation its exact range, its name and which of its bytes were ever written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/arena.h"
#include "device/heap.h"
#include "device/reservation.h"
#include "device/textures.h"
#include "device/written_bits.h"
#include "protocol.h"

namespace vgpu {

enum class AllocKind : uint8_t { kDevice, kPinned, kManaged, kSymbol, kConst, kInternal, kHeap };

struct Allocation {
  uint64_t base = 0, bytes = 0;
  uint64_t unused = 0;  // bytes that nobody will touch: they take no memory
  AllocKind kind = AllocKind::kDevice;
  std::string name;  // "k_cache", or "cudaMalloc #3"
  bool freed = false;
  bool from_program = true;  // counts as a leak when never freed
  bool all_written = false;  // every byte has been initialised: `written` need not be looked at
  WrittenBits written;       // one bit a byte, empty when the memory began as all_written
  std::string where;         // of a free: what freed it, for use-after-free texts
  wire::CodePlace allocated_by{};
  std::shared_ptr<Reservation> reservation;  // of a graph, whose address this is
  int heap_site = -1;                        // of device code's malloc: DeviceHeap::site
  uint64_t heap_number = 0;                  // the same: they are counted from 1
  uint64_t end() const { return base + bytes; }
};

// Allocations are made and freed between launches, and by kernels that use the heap, which run on one thread;
// kernels on several threads look addresses up without a lock.
class DeviceMemory {
 public:
  // Creates the arenas. `limit` is what all allocations together may take.
  explicit DeviceMemory(uint64_t limit);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;

  int device_fd() const { return device_.file().fd(); }
  int pinned_fd() const { return pinned_.file().fd(); }
  // Every device allocation, live or freed, lies in this many bytes from wire::kDeviceBase.
  uint64_t device_extent() const { return device_.extent(); }
  uint64_t pinned_extent() const { return pinned_.extent(); }
  uint64_t device_bytes() const { return device_.file().bytes(); }
  uint64_t pinned_bytes() const { return pinned_.file().bytes(); }
  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_; }

  // nullptr when the limit is reached; zero bytes is the caller's business. Device memory begins unwritten,
  // every other kind as written: the host or the module has filled it.
  // The limit counts all bytes but `unused` ones, which nobody will touch.
  Allocation* allocate(uint64_t bytes, AllocKind kind, const std::string& name, uint64_t align = 256,
                       uint64_t unused = 0);
  enum class FreeResult { kOk, kUnknown, kAlreadyFreed, kNotTheStart };
  FreeResult release(uint64_t address, AllocKind kind, const std::string& where);

  // Addresses for device memory that is allocated later, again and again. It counts as used from now on, so
  // that there is room for it whenever it is. nullptr when the limit is reached.
  std::shared_ptr<Reservation> reserve(uint64_t bytes, const std::string& name);
  void allocate_reserved(const std::shared_ptr<Reservation>& reservation);
  // How much of it there is, and how much of that is allocated now; the most so far.
  wire::GraphMemory reserved_figures() const { return reserved_figures_; }
  void reset_reserved_high();
  // The reservation that contains the address, or nullptr.
  std::shared_ptr<Reservation> find_reserved(uint64_t address) const;

  // The live allocation that contains the address, or nullptr.
  Allocation* find(uint64_t address) const;
  // The live allocations that share bytes with [address, address + bytes).
  std::vector<Allocation*> overlapping(uint64_t address, uint64_t bytes) const;
  // The nearest allocation, live or freed, that an address past an end or before a start may have meant.
  // Distance: bytes from its end (0 is the first byte behind it), negative from its start (-1 is the byte
  // before it). nullptr when nothing was ever allocated.
  const Allocation* nearest(uint64_t address, int64_t* distance) const;
  // A freed allocation that contained the address, the latest first.
  const Allocation* find_freed(uint64_t address) const;

  // Host pointers to the same bytes: the arenas are mapped where their addresses say.
  static uint8_t* host(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }
  static bool in_device_arena(uint64_t address);
  static bool in_pinned_arena(uint64_t address);

  void mark_written(Allocation& a, uint64_t address, uint64_t bytes);
  bool is_written(const Allocation& a, uint64_t address, uint64_t bytes) const;

  const std::vector<std::unique_ptr<Allocation>>& all() const { return all_; }
  Textures& textures() { return textures_; }

  std::vector<const Allocation*> leaks() const;
  // Frees everything a program allocated (device reset).
  void release_program_memory();

  DeviceHeap& heap() { return heap_; }
  const DeviceHeap& heap() const { return heap_; }
  // Between launches: freed allocations that are remembered only for texts must not become too many.
  void forget_old_ones();

 private:
  friend struct Reservation;
  friend class DeviceHeap;
  Arena& arena_of(AllocKind kind);
  Allocation* enlist(std::unique_ptr<Allocation> made);
  void end(const Reservation& reservation);
  void retire(Allocation& a, const std::string& where);

  uint64_t limit_ = 0, used_ = 0;
  Textures textures_;
  Arena device_, pinned_;
  std::map<uint64_t, std::weak_ptr<Reservation>>
      reserved_;  // by base; outlives allocations, which share them
  wire::GraphMemory reserved_figures_{};
  std::vector<std::unique_ptr<Allocation>> all_;  // live and recently freed
  std::vector<Allocation*> live_;                 // sorted by base
  std::vector<uint64_t> live_bases_;              // the same bases, close together for the search
  std::vector<Allocation*> freed_;                // oldest first
  DeviceHeap heap_{*this};
};

}  // namespace vgpu
