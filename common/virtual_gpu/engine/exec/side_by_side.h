// Blocks on several CPU threads end as they would one after the other, as long as no thread touches what
// another wrote. Whether that held is known only at the end, so each thread notes the words it touches,
// memory is kept as it was before the first write to it, and an attempt that did not hold is undone.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "device/memory.h"

namespace vgpu {

enum class Touch : uint8_t { kRead, kWrite, kUpdate };  // kUpdate: an atomic whose order does not matter

// Zeroed entries for every piece of both arenas, which cost no memory until they are used.
template <class Entry, int kShift>
class PieceTable {
 public:
  explicit PieceTable(const DeviceMemory& memory)
      : device_pieces_((memory.device_extent() >> kShift) + 1),
        pieces_(device_pieces_ + (memory.pinned_extent() >> kShift) + 1),
        entries_(static_cast<Entry*>(std::calloc(pieces_, sizeof(Entry)))) {
    if (entries_ == nullptr) throw std::bad_alloc();
  }
  ~PieceTable() { std::free(entries_); }
  PieceTable(const PieceTable&) = delete;
  PieceTable& operator=(const PieceTable&) = delete;

  uint64_t size() const { return pieces_; }
  uint64_t index_of(uint64_t address) const {
    return DeviceMemory::in_device_arena(address)
               ? (address - wire::kDeviceBase) >> kShift
               : device_pieces_ + ((address - wire::kPinnedBase) >> kShift);
  }
  Entry& operator[](uint64_t index) { return entries_[index]; }
  const Entry& operator[](uint64_t index) const { return entries_[index]; }

 private:
  uint64_t device_pieces_, pieces_;
  Entry* entries_;
};

// The words of memory as they were before the launch wrote them, page by page; shared by all threads.
class UndoLog {
 public:
  // Undoing more than this is not worth its memory: `full` then asks for the attempt to be given up.
  static constexpr uint64_t kMostPages = 1u << 18;  // 1 GiB

  explicit UndoLog(DeviceMemory& memory) : memory_(memory), states_(memory) {}
  // Before each write to [address, address + bytes).
  void keep(uint64_t address, uint64_t bytes) {
    for (uint64_t page = address >> kShift; page <= (address + bytes - 1) >> kShift; ++page)
      if (states_[states_.index_of(page << kShift)].load(std::memory_order_acquire) != kKept)
        keep_page(page << kShift);
  }
  bool full() const { return full_.load(std::memory_order_relaxed); }
  void undo();

 private:
  static constexpr int kShift = 12;
  static constexpr uint64_t kPageBytes = 1u << kShift;
  enum State : uint8_t { kUntouched, kBusy, kKept };
  struct Written {
    Allocation* allocation;
    uint64_t first_word;
    std::vector<uint64_t> words;
  };
  struct Page {
    uint64_t address;
    std::vector<Written> written;
    uint8_t bytes[kPageBytes];
  };
  void keep_page(uint64_t address);

  DeviceMemory& memory_;
  PieceTable<std::atomic<uint8_t>, kShift> states_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::atomic<bool> full_{false};
};

// The words that one thread touched.
class TouchMap {
 public:
  TouchMap(const DeviceMemory& memory, UndoLog& undo) : pieces_(memory), undo_(undo) {}
  ~TouchMap() {
    for (uint64_t i : used_) std::free(pieces_[i]);
  }
  void note(Touch touch, uint64_t address, uint64_t bytes) {
    if (touch != Touch::kRead) undo_.keep(address, bytes);
    uint64_t word = address >> 2;
    const uint64_t end = (address + bytes + 3) >> 2;
    while (word < end) {
      uint64_t* bits = piece_at(word << 2).bits[static_cast<int>(touch)];
      const uint64_t here = std::min<uint64_t>(end - word, 64 - word % 64);
      bits[word / 64 % kWords] |= (here == 64 ? ~0ull : (1ull << here) - 1) << word % 64;
      word += here;
    }
  }
  // Did two threads touch a word that at least one of them wrote, or updated while the other read it?
  static bool conflict(const std::vector<const TouchMap*>& threads);

 private:
  static constexpr int kShift = 16;
  static constexpr uint64_t kWords = (1u << (kShift - 2)) / 64;
  struct Piece {
    uint64_t bits[3][kWords];
  };
  Piece& piece_at(uint64_t address) {
    if (address >> kShift == recent_address_) return *recent_;
    Piece*& piece = pieces_[pieces_.index_of(address)];
    if (piece == nullptr) {
      piece = static_cast<Piece*>(std::calloc(1, sizeof(Piece)));
      if (piece == nullptr) throw std::bad_alloc();
      used_.push_back(pieces_.index_of(address));
    }
    recent_address_ = address >> kShift;
    recent_ = piece;
    return *piece;
  }

  PieceTable<Piece*, kShift> pieces_;
  UndoLog& undo_;
  std::vector<uint64_t> used_;
  uint64_t recent_address_ = ~0ull;
  Piece* recent_ = nullptr;
};

}  // namespace vgpu
