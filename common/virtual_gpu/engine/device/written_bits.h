// One bit a byte of an allocation: has anything ever written it?
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace vgpu {

// Zeroed words that cost no memory until they are touched: the bits of 10 GB are 1.25 GB of addresses.
class WrittenBits {
 public:
  WrittenBits() = default;
  explicit WrittenBits(uint64_t bits) : words_((bits + 63) / 64) {
    if (words_ == 0) return;
    void* memory = is_mapped() ? mmap(nullptr, words_ * 8, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                               : std::calloc(words_, 8);
    if (memory == MAP_FAILED || memory == nullptr) throw std::bad_alloc();
    data_ = static_cast<uint64_t*>(memory);
  }
  WrittenBits(WrittenBits&& other) noexcept { swap(other); }
  WrittenBits& operator=(WrittenBits&& other) noexcept {
    WrittenBits taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~WrittenBits() {
    if (data_ == nullptr) return;
    if (is_mapped()) {
      munmap(data_, words_ * 8);
    } else {
      std::free(data_);
    }
  }

  uint64_t* data() { return data_; }
  const uint64_t* data() const { return data_; }
  uint64_t size() const { return words_; }
  bool empty() const { return words_ == 0; }
  uint64_t& operator[](uint64_t word) { return data_[word]; }
  uint64_t operator[](uint64_t word) const { return data_[word]; }

 private:
  bool is_mapped() const { return words_ >= 1 << 16; }
  void swap(WrittenBits& other) {
    std::swap(words_, other.words_);
    std::swap(data_, other.data_);
  }

  uint64_t words_ = 0;
  uint64_t* data_ = nullptr;
};

}  // namespace vgpu
