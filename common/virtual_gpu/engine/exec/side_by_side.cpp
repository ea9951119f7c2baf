#include "exec/side_by_side.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace vgpu {

void UndoLog::keep_page(uint64_t address) {
  std::atomic<uint8_t>& state = states_[states_.index_of(address)];
  uint8_t untouched = kUntouched;
  if (!state.compare_exchange_strong(untouched, kBusy)) {
    while (state.load(std::memory_order_acquire) != kKept) std::this_thread::yield();
    return;
  }
  auto page = std::make_unique<Page>();
  page->address = address;
  std::memcpy(page->bytes, DeviceMemory::host(address), kPageBytes);
  for (Allocation* a : memory_.overlapping(address, kPageBytes)) {
    if (a->all_written) continue;
    // Allocations and pages begin at multiples of 64 bytes, so a word of bits belongs to one page.
    const uint64_t first = (std::max(address, a->base) - a->base) / 64;
    const uint64_t end = (std::min(address + kPageBytes, a->end()) - a->base + 63) / 64;
    page->written.push_back({a, first, {a->written.data() + first, a->written.data() + end}});
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pages_.push_back(std::move(page));
    if (pages_.size() > kMostPages) full_ = true;
  }
  state.store(kKept, std::memory_order_release);
}

void UndoLog::undo() {
  for (const auto& page : pages_) {
    std::memcpy(DeviceMemory::host(page->address), page->bytes, kPageBytes);
    for (const Written& w : page->written)
      std::copy(w.words.begin(), w.words.end(), w.allocation->written.data() + w.first_word);
  }
}

bool TouchMap::conflict(const std::vector<const TouchMap*>& threads) {
  std::vector<uint64_t> used;
  for (const TouchMap* t : threads) used.insert(used.end(), t->used_.begin(), t->used_.end());
  std::sort(used.begin(), used.end());
  for (auto at = used.begin(); at != used.end();) {
    const uint64_t index = *at;
    const auto next = std::upper_bound(at, used.end(), index);
    if (next - at > 1) {  // more than one thread was here
      Piece sum{};
      for (const TouchMap* t : threads) {
        const Piece* p = t->pieces_[index];
        if (p == nullptr) continue;
        for (uint64_t i = 0; i < kWords; ++i) {
          uint64_t &read = sum.bits[0][i], &write = sum.bits[1][i], &update = sum.bits[2][i];
          const uint64_t r = p->bits[0][i], w = p->bits[1][i], u = p->bits[2][i];
          if ((w & (read | write | update)) | (r & (write | update)) | (u & (read | write))) return true;
          read |= r, write |= w, update |= u;
        }
      }
    }
    at = next;
  }
  return false;
}

}  // namespace vgpu
