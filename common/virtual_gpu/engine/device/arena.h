// A range of addresses backed by one sealed, sparse memory file, and the ranges handed out of it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace vgpu {

// A memory file that cannot be made smaller, mapped at a fixed address. Nobody who is handed the
// descriptor can cut pages away beneath the engine.
class SharedFile {
 public:
  // Takes the largest of bytes, bytes/2, … down to `least` that the system grants (address-space and file
  // size limits); `address` 0 lets the system choose. Throws std::runtime_error when even the least fails.
  SharedFile(const char* name, uint64_t address, uint64_t bytes, uint64_t least);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int fd() const { return fd_; }
  uint8_t* data() const { return data_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data_); }
  uint64_t bytes() const { return bytes_; }
  // Gives the pages back to the system; the bytes read as zero afterwards.
  void discard(uint64_t address, uint64_t bytes);

 private:
  bool open_and_map(const char* name, uint64_t address, uint64_t bytes, std::string* why);

  int fd_ = -1;
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

class Arena {
 public:
  // Behind an allocation lie as many bytes that belong to nobody, and at least this many: an index that is
  // wrong by a factor of two meets no neighbour. Addresses cost nothing; only when they run short are
  // neighbours kGuardBytes apart.
  static constexpr uint64_t kWideGuardBytes = 64ull << 10;
  static constexpr uint64_t kGuardBytes = 512;

  Arena(const char* name, uint64_t address, uint64_t bytes);

  const SharedFile& file() const { return file_; }
  bool contains(uint64_t address) const { return address - file_.address() < file_.bytes(); }
  // Everything ever handed out lies in this many bytes from the start.
  uint64_t extent() const { return next_ - file_.address(); }
  // An address for `bytes` bytes and a guard behind them; 0 when no room is left. `align` is a power of two.
  uint64_t take(uint64_t bytes, uint64_t align);
  // Empties the range and puts it in quarantine: a pointer kept too long must not meet new data too soon.
  void give_back(uint64_t address, uint64_t bytes);
  // Forgets the bytes of a range that stays handed out.
  void empty(uint64_t address, uint64_t bytes) { file_.discard(address, bytes); }

 private:
  struct Freed {
    uint64_t address, bytes;
    uint64_t frees_before, bytes_before;  // of the arena, when this one was freed
  };
  static uint64_t footprint(uint64_t bytes, uint64_t guard);
  uint64_t take_with_guard(uint64_t bytes, uint64_t align, uint64_t guard);
  void end_quarantine(bool all);
  void add_hole(uint64_t address, uint64_t bytes);
  uint64_t take_from_hole(uint64_t bytes, uint64_t align);

  SharedFile file_;
  uint64_t next_;                       // everything from here on was never handed out
  std::map<uint64_t, uint64_t> holes_;  // address -> bytes; neighbours are merged
  std::map<uint64_t, uint64_t> taken_;  // address -> bytes, with the guard
  std::deque<Freed> quarantine_;        // oldest first
  uint64_t frees_ = 0, freed_bytes_ = 0;
};

}  // namespace vgpu
