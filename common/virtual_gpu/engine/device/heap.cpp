#include "device/heap.h"

#include <algorithm>

#include "device/memory.h"

namespace vgpu {
namespace {

// Small enough that a list of a million nodes fits, large enough that an index one too high meets nobody.
// Multiples of 64: a word of written bits then belongs to one allocation.
constexpr uint64_t kStep = 64;
constexpr uint64_t kWidestGuard = 64ull << 10;
constexpr uint64_t kSmallest = 16;  // what an allocation counts for, at least
constexpr uint64_t kSpread = 2 * kStep / kSmallest;
constexpr uint64_t kPage = 4096;

uint64_t rounded(uint64_t bytes, uint64_t step) {
  return (bytes + step - 1) / step * step;
}

uint64_t counted(uint64_t bytes) {
  return std::max(kSmallest, rounded(bytes, kSmallest));
}

uint64_t with_guard(uint64_t bytes) {
  const uint64_t room = rounded(std::max<uint64_t>(1, bytes), kStep);
  return room + std::min(room, kWidestGuard);
}

}  // namespace

bool DeviceHeap::set_limit(uint64_t bytes) {
  if (base_ != 0) return bytes == limit_;
  limit_ = bytes;
  return true;
}

bool DeviceHeap::make() {
  if (base_ != 0) return true;
  if (limit_ > memory_.limit_ - memory_.used_ || limit_ > ~0ull / kSpread) return false;
  bytes_ = rounded(std::max(limit_, kPage) * kSpread, kPage);
  base_ = memory_.device_.take(bytes_, kPage);
  if (base_ == 0) return false;
  memory_.used_ += limit_;
  holes_[base_] = bytes_;
  cursor_ = base_;
  return true;
}

uint64_t DeviceHeap::take(uint64_t bytes, uint64_t align) {
  const auto fit = [&](auto from, auto to) -> uint64_t {
    for (auto hole = from; hole != to; ++hole) {
      const auto [start, size] = *hole;
      const uint64_t address = rounded(start, align), end = start + size;
      if (address + bytes > end) continue;
      holes_.erase(hole);
      if (address > start) holes_[start] = address - start;
      if (address + bytes < end) holes_[address + bytes] = end - address - bytes;
      cursor_ = address + bytes;
      return address;
    }
    return 0;
  };
  const auto next = holes_.lower_bound(cursor_);
  if (const uint64_t address = fit(next, holes_.end())) return address;
  return fit(holes_.begin(), holes_.end());
}

void DeviceHeap::give_back(uint64_t address, uint64_t bytes) {
  uint64_t begin = address, end = address + bytes;
  auto after = holes_.lower_bound(address);
  if (after != holes_.end() && after->first == end) {
    end += after->second;
    after = holes_.erase(after);
  }
  if (after != holes_.begin()) {
    if (const auto before = std::prev(after); before->first + before->second == begin) {
      begin = before->first;
      holes_.erase(before);
    }
  }
  holes_[begin] = end - begin;
  // Pages of which the last part has become free.
  const uint64_t first = std::max(rounded(begin, kPage), address / kPage * kPage);
  const uint64_t last = std::min(end / kPage * kPage, rounded(address + bytes, kPage));
  if (first < last) memory_.device_.empty(first, last - first);
}

Allocation* DeviceHeap::allocate(uint64_t bytes, uint64_t align, int site) {
  if (bytes > limit_ || counted(bytes) > limit_ - used_) return nullptr;
  const uint64_t address = take(with_guard(bytes), std::max(kStep, align));
  if (address == 0) return nullptr;
  used_ += counted(bytes);
  auto made = std::make_unique<Allocation>();
  made->base = address;
  made->bytes = bytes;
  made->kind = AllocKind::kHeap;
  made->heap_number = ++made_;
  made->name = "device malloc #" + std::to_string(made_);
  made->heap_site = site;
  made->written = WrittenBits(bytes);
  return live_[address] = memory_.enlist(std::move(made));
}

void DeviceHeap::release(Allocation& a, const std::string& where) {
  live_.erase(a.base);
  used_ -= counted(a.bytes);
  memory_.retire(a, where);
  give_back(a.base, with_guard(a.bytes));
}

void DeviceHeap::clear() {
  while (!live_.empty()) release(*live_.begin()->second, "cudaDeviceReset");
  if (base_ != 0) {
    memory_.device_.give_back(base_, bytes_);
    memory_.used_ -= limit_;
  }
  base_ = 0;
  holes_.clear();
  limit_ = kDefaultBytes;
}

std::vector<const Allocation*> DeviceHeap::live() const {
  std::vector<const Allocation*> out;
  for (const auto& [address, allocation] : live_) out.push_back(allocation);
  std::ranges::sort(out, {}, [](const Allocation* a) { return a->heap_number; });
  return out;
}

}  // namespace vgpu
