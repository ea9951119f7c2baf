// Which 32-byte sectors of device memory a launch touched: the least it must move. One bit a sector, in
// pages made on demand; several CPU threads mark at once.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace vgpu {

class SectorMap {
 public:
  static constexpr int kSectorShift = 5;
  static constexpr int kPageShift = 20;  // one page of bits covers 1 MiB of memory
  static constexpr size_t kWords = (1u << (kPageShift - kSectorShift)) / 64;

  SectorMap(uint64_t base, uint64_t bytes) : base_(base), pages_((bytes >> kPageShift) + 1) {}
  ~SectorMap() {
    for (auto& p : pages_) std::free(p.load());
  }
  SectorMap(const SectorMap&) = delete;

  // Marks `count` sectors from the one that holds `address`.
  void mark(uint64_t address, uint32_t count) {
    uint64_t sector = (address - base_) >> kSectorShift;
    while (count > 0) {
      const uint64_t page = sector >> (kPageShift - kSectorShift);
      if (page >= pages_.size()) return;
      std::atomic<uint64_t>* words = page_words(page);
      if (words == nullptr) return;
      const uint32_t bit = sector & 63;
      const uint32_t here = std::min<uint32_t>(count, 64 - bit);
      const uint64_t bits = (here == 64 ? ~0ull : (1ull << here) - 1) << bit;
      std::atomic<uint64_t>& word = words[(sector >> 6) & (kWords - 1)];
      if ((word.load(std::memory_order_relaxed) & bits) != bits)
        word.fetch_or(bits, std::memory_order_relaxed);
      sector += here;
      count -= here;
    }
  }

  // Marks what another map of the same memory has marked; nobody else marks meanwhile.
  void add(const SectorMap& other) {
    other.for_each_page([this](size_t page, const std::atomic<uint64_t>* more) {
      std::atomic<uint64_t>* words = page_words(page);
      for (size_t i = 0; words != nullptr && i < kWords; ++i)
        words[i].fetch_or(more[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    });
  }

  uint64_t count() const {
    return count_bits([](uint64_t word) { return word; });
  }
  // Those that another map of the same memory has not.
  uint64_t count_without(const SectorMap& other) const {
    uint64_t n = 0;
    for_each_page([&](size_t page, const std::atomic<uint64_t>* words) {
      const std::atomic<uint64_t>* without = page < other.pages_.size() ? other.pages_[page].load() : nullptr;
      for (size_t i = 0; i < kWords; ++i)
        n += static_cast<uint64_t>(std::popcount(words[i].load(std::memory_order_relaxed) &
                                                 ~(without != nullptr ? without[i].load() : 0)));
    });
    return n;
  }
  // Calls with each page that has bits: its number and its words.
  template <class Visit>
  void for_each_page(Visit visit) const {
    for (size_t i = 0; i < pages_.size(); ++i)
      if (const std::atomic<uint64_t>* words = pages_[i].load()) visit(i, words);
  }
  // Aligned pairs of sectors of which at least one was touched: DRAM is read and written by pairs.
  uint64_t count_pairs() const {
    return count_bits([](uint64_t word) { return (word | word >> 1) & 0x5555555555555555ull; });
  }
  // Aligned lines of 128 bytes of which at least one sector was touched: what L2 fetches to complete a part.
  uint64_t count_lines() const {
    return count_bits([](uint64_t word) {
      word |= word >> 1;
      return (word | word >> 2) & 0x1111111111111111ull;
    });
  }

 private:
  template <class Select>
  uint64_t count_bits(Select select) const {
    uint64_t n = 0;
    for_each_page([&](size_t, const std::atomic<uint64_t>* words) {
      for (size_t i = 0; i < kWords; ++i)
        n += static_cast<uint64_t>(std::popcount(select(words[i].load(std::memory_order_relaxed))));
    });
    return n;
  }

  std::atomic<uint64_t>* page_words(uint64_t page) {
    std::atomic<uint64_t>* words = pages_[page].load(std::memory_order_acquire);
    if (words) return words;
    auto* fresh = static_cast<std::atomic<uint64_t>*>(std::calloc(kWords, sizeof(uint64_t)));
    if (pages_[page].compare_exchange_strong(words, fresh)) return fresh;
    std::free(fresh);
    return words;
  }

  uint64_t base_;
  std::vector<std::atomic<std::atomic<uint64_t>*>> pages_;
};

}  // namespace vgpu
