#include "device/memory.h"

#include <algorithm>

namespace vgpu {
namespace {

// Freed allocations that are remembered by name for use-after-free texts.
constexpr size_t kFreedRemembered = 1024;

bool contains(const Allocation& a, uint64_t address) {
  return address - a.base < a.bytes;
}

// Signed distance as DeviceMemory::nearest() defines it; 0 inside.
int64_t distance_to(const Allocation& a, uint64_t address) {
  if (address >= a.end()) return static_cast<int64_t>(address - a.end());
  return address < a.base ? -static_cast<int64_t>(a.base - address) : 0;
}

// The bits [first, last) of a word.
uint64_t bit_range(uint64_t first, uint64_t last) {
  const uint64_t upto_last = last == 64 ? ~0ull : (1ull << last) - 1;
  return upto_last & ~((1ull << first) - 1);
}

// Calls f(word index, mask) for every word that holds bits of [first, last).
template <class F>
bool for_words(uint64_t first, uint64_t last, F f) {
  for (uint64_t bit = first; bit < last;) {
    const uint64_t word = bit / 64, stop = std::min(last, (word + 1) * 64);
    if (!f(word, bit_range(bit % 64, stop - word * 64))) return false;
    bit = stop;
  }
  return true;
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t limit)
    : limit_(limit),
      device_("vgpu-device-memory", wire::kDeviceBase, wire::kArenaBytes),
      pinned_("vgpu-pinned-memory", wire::kPinnedBase, wire::kArenaBytes) {}

DeviceMemory::~DeviceMemory() = default;

bool DeviceMemory::in_device_arena(uint64_t address) {
  return address - wire::kDeviceBase < wire::kArenaBytes;
}

bool DeviceMemory::in_pinned_arena(uint64_t address) {
  return address - wire::kPinnedBase < wire::kArenaBytes;
}

Arena& DeviceMemory::arena_of(AllocKind kind) {
  return kind == AllocKind::kPinned || kind == AllocKind::kManaged ? pinned_ : device_;
}

Allocation* DeviceMemory::allocate(uint64_t bytes, AllocKind kind, const std::string& name, uint64_t align,
                                   uint64_t unused) {
  if (bytes - unused > limit_ - used_) return nullptr;
  auto made = std::make_unique<Allocation>();
  made->bytes = bytes;
  made->unused = unused;
  made->kind = kind;
  made->name = name;
  made->all_written = kind != AllocKind::kDevice;
  made->base = arena_of(kind).take(bytes, align);
  if (made->base == 0) return nullptr;
  if (!made->all_written) made->written = WrittenBits(bytes);
  used_ += bytes - unused;
  return enlist(std::move(made));
}

Allocation* DeviceMemory::enlist(std::unique_ptr<Allocation> made) {
  Allocation* a = made.get();
  const auto at = std::lower_bound(live_bases_.begin(), live_bases_.end(), a->base) - live_bases_.begin();
  live_bases_.insert(live_bases_.begin() + at, a->base);
  live_.insert(live_.begin() + at, a);
  all_.push_back(std::move(made));
  return a;
}

DeviceMemory::FreeResult DeviceMemory::release(uint64_t address, AllocKind kind, const std::string& where) {
  const auto at = std::lower_bound(live_bases_.begin(), live_bases_.end(), address) - live_bases_.begin();
  const bool is_start = at < static_cast<ptrdiff_t>(live_.size()) && live_bases_[at] == address;
  if (is_start && live_[at]->kind == kind) {
    retire(*live_[at], where);
    return FreeResult::kOk;
  }
  if (is_start) return FreeResult::kUnknown;  // memory of another kind: not this call's to free
  if (find(address) != nullptr) return FreeResult::kNotTheStart;
  return find_freed(address) != nullptr ? FreeResult::kAlreadyFreed : FreeResult::kUnknown;
}

void DeviceMemory::retire(Allocation& a, const std::string& where) {
  const auto at = std::lower_bound(live_bases_.begin(), live_bases_.end(), a.base) - live_bases_.begin();
  live_bases_.erase(live_bases_.begin() + at);
  live_.erase(live_.begin() + at);
  if (a.reservation != nullptr) {
    device_.empty(a.base, a.bytes);
    reserved_figures_.used -= a.bytes;
    a.reservation.reset();
  } else if (a.kind != AllocKind::kHeap) {  // which keeps its addresses itself
    arena_of(a.kind).give_back(a.base, a.bytes);
    used_ -= a.bytes - a.unused;
  }
  a.freed = true;
  a.where = where;
  a.written = WrittenBits();
  freed_.push_back(&a);
  // A kernel that runs may still point to one that it freed.
  if (a.kind != AllocKind::kHeap) forget_old_ones();
}

Reservation::~Reservation() {
  memory.end(*this);
}

std::shared_ptr<Reservation> DeviceMemory::reserve(uint64_t bytes, const std::string& name) {
  constexpr uint64_t kAlign = 256;
  if (bytes > limit_ - used_) return nullptr;
  const uint64_t base = device_.take(bytes, kAlign);
  if (base == 0) return nullptr;
  used_ += bytes;
  reserved_figures_.reserved += bytes;
  reserved_figures_.reserved_high = std::max(reserved_figures_.reserved_high, reserved_figures_.reserved);
  auto made = std::make_shared<Reservation>(*this, base, bytes, name);
  reserved_[base] = made;
  return made;
}

void DeviceMemory::end(const Reservation& reservation) {
  reserved_.erase(reservation.base);
  device_.give_back(reservation.base, reservation.bytes);
  used_ -= reservation.bytes;
  reserved_figures_.reserved -= reservation.bytes;
}

void DeviceMemory::reset_reserved_high() {
  reserved_figures_.used_high = reserved_figures_.used;
  reserved_figures_.reserved_high = reserved_figures_.reserved;
}

void DeviceMemory::allocate_reserved(const std::shared_ptr<Reservation>& reservation) {
  auto made = std::make_unique<Allocation>();
  made->base = reservation->base;
  made->bytes = reservation->bytes;
  made->name = reservation->name;
  made->allocated_by = reservation->reserved_by;
  made->reservation = reservation;
  made->written = WrittenBits(made->bytes);
  reserved_figures_.used += made->bytes;
  reserved_figures_.used_high = std::max(reserved_figures_.used_high, reserved_figures_.used);
  enlist(std::move(made));
}

std::shared_ptr<Reservation> DeviceMemory::find_reserved(uint64_t address) const {
  const auto after = reserved_.upper_bound(address);
  if (after == reserved_.begin()) return nullptr;
  std::shared_ptr<Reservation> found = std::prev(after)->second.lock();
  return found != nullptr && found->contains(address) ? found : nullptr;
}

void DeviceMemory::forget_old_ones() {
  if (freed_.size() <= 2 * kFreedRemembered) return;
  const auto keep_from = freed_.end() - kFreedRemembered;
  std::vector<Allocation*> forgotten(freed_.begin(), keep_from);
  std::sort(forgotten.begin(), forgotten.end());
  freed_.erase(freed_.begin(), keep_from);
  std::erase_if(
      all_, [&](const auto& a) { return std::binary_search(forgotten.begin(), forgotten.end(), a.get()); });
}

Allocation* DeviceMemory::find(uint64_t address) const {
  const auto after = std::upper_bound(live_bases_.begin(), live_bases_.end(), address);
  if (after == live_bases_.begin()) return nullptr;
  Allocation* a = live_[after - live_bases_.begin() - 1];
  return contains(*a, address) ? a : nullptr;
}

std::vector<Allocation*> DeviceMemory::overlapping(uint64_t address, uint64_t bytes) const {
  std::vector<Allocation*> found;
  auto at = std::upper_bound(live_bases_.begin(), live_bases_.end(), address) - live_bases_.begin();
  if (at > 0 && contains(*live_[at - 1], address)) --at;
  for (; at < static_cast<ptrdiff_t>(live_.size()) && live_[at]->base < address + bytes; ++at)
    found.push_back(live_[at]);
  return found;
}

const Allocation* DeviceMemory::find_freed(uint64_t address) const {
  const auto found = std::find_if(freed_.rbegin(), freed_.rend(),
                                  [&](const Allocation* a) { return contains(*a, address); });
  return found == freed_.rend() ? nullptr : *found;
}

const Allocation* DeviceMemory::nearest(uint64_t address, int64_t* distance) const {
  const Allocation* best = nullptr;
  const auto consider = [&](const Allocation* a) {
    const int64_t d = distance_to(*a, address);
    if (best != nullptr && std::abs(d) >= std::abs(*distance)) return;
    best = a;
    *distance = d;
  };
  // Of live ones only the two neighbours can be nearest; live ones come first, so that a tie goes to them.
  const auto after = std::upper_bound(live_bases_.begin(), live_bases_.end(), address) - live_bases_.begin();
  if (after > 0) consider(live_[after - 1]);
  if (after < static_cast<ptrdiff_t>(live_.size())) consider(live_[after]);
  std::for_each(freed_.rbegin(), freed_.rend(), consider);
  return best;
}

void DeviceMemory::mark_written(Allocation& a, uint64_t address, uint64_t bytes) {
  if (a.all_written || bytes == 0) return;
  if (address == a.base && bytes == a.bytes) {
    a.all_written = true;
    return;
  }
  uint64_t* words = a.written.data();
  for_words(address - a.base, address - a.base + bytes, [&](uint64_t word, uint64_t mask) {
    __atomic_fetch_or(&words[word], mask, __ATOMIC_RELAXED);
    return true;
  });
}

bool DeviceMemory::is_written(const Allocation& a, uint64_t address, uint64_t bytes) const {
  if (a.all_written) return true;
  const uint64_t* words = a.written.data();
  return for_words(address - a.base, address - a.base + bytes, [&](uint64_t word, uint64_t mask) {
    return (__atomic_load_n(&words[word], __ATOMIC_RELAXED) & mask) == mask;
  });
}

std::vector<const Allocation*> DeviceMemory::leaks() const {
  std::vector<const Allocation*> found;
  for (const auto& a : all_) {
    const bool program_kind =
        a->kind == AllocKind::kDevice || a->kind == AllocKind::kPinned || a->kind == AllocKind::kManaged;
    if (!a->freed && a->from_program && program_kind) found.push_back(a.get());
  }
  return found;
}

void DeviceMemory::release_program_memory() {
  textures_.clear();
  for (const Allocation* leak : leaks()) release(leak->base, leak->kind, "cudaDeviceReset");
  heap_.clear();
}

}  // namespace vgpu
