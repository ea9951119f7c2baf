#include "checks/proxy_writes.h"

#include <algorithm>

#include "checks/proxy_findings.h"
#include "checks/shared_check.h"
#include "tensor_map.h"

namespace vgpu {

ProxyWrites::~ProxyWrites() {
  for (const uint64_t i : used_) std::free(pieces_[i]);
}

uint32_t* ProxyWrites::piece_of(uint64_t word) {
  const uint64_t index = pieces_.index_of(word << 2);
  uint32_t*& piece = pieces_[index];
  if (piece == nullptr) {
    piece = static_cast<uint32_t*>(std::calloc(kWords, sizeof(uint32_t)));
    if (piece == nullptr) throw std::bad_alloc();
    used_.push_back(index);
  }
  return piece;
}

void ProxyWrites::put(uint64_t word, uint64_t end, uint32_t entry) {
  while (word < end) {
    const uint64_t here = std::min(end - word, kWords - word % kWords);
    std::fill_n(piece_of(word) + word % kWords, here, entry);
    word += here;
  }
}

// Stores of one instruction between two meetings of threads are one write.
uint32_t ProxyWrites::number_of(const Warp& w, const Op& op) {
  const Block& b = *w.block;
  uint32_t& latest = latest_of_[op.index & 63];
  const Write& known = writes_[latest];
  const uint32_t thread = w.id * kLanes;
  if (latest != 0 && known.op == op.index && known.thread == thread && known.tick == b.tick &&
      known.block == b.linear && known.fences == fences_)
    return latest;
  if (writes_.size() >= kMostWrites) return 0;
  latest = static_cast<uint32_t>(writes_.size());
  writes_.push_back({b.linear, op.index, thread, b.tick, fences_, State::kOrdinary});
  return latest;
}

uint32_t ProxyWrites::thread_of(uint32_t entry) const {
  return writes_[entry >> kLaneBits].thread + (entry & (kLanes - 1));
}

void ProxyWrites::access(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask,
                         const Shape& shape, bool reads, bool writes) {
  const bool together = (shape.contiguous || shape.uniform) && std::popcount(mask) == shape.count;
  if (reads && any_bulk_) {
    if (together) {
      const uint64_t first = address[shape.first];
      const uint64_t size = shape.uniform ? bytes : uint64_t{bytes} * static_cast<uint64_t>(shape.count);
      // Nearly always there is nothing, for all lanes at once.
      bool any = false;
      for (uint64_t word = first >> 2; word < (first + size + 3) >> 2; ++word) any |= at(word) != 0;
      if (!any) reads = false;
    }
    for (Mask m = reads ? mask : 0; m != 0; m &= m - 1) {
      const int lane = first_lane(m);
      check_words(w, op, lane, address[lane] >> 2, (address[lane] + bytes + 3) >> 2);
    }
  }
  if (!writes) return;
  const uint32_t number = number_of(w, op);
  for (Mask m = number != 0 ? mask : 0; m != 0; m &= m - 1) {
    const int lane = first_lane(m);
    put(address[lane] >> 2, (address[lane] + bytes + 3) >> 2,
        number << kLaneBits | static_cast<uint32_t>(lane));
  }
}

// What an ordinary load reads of bulk stores.
void ProxyWrites::check_words(Warp& w, const Op& op, int lane, uint64_t word, uint64_t end) {
  for (; word < end; ++word) {
    const uint32_t number = at(word) >> kLaneBits;
    const State state = writes_[number].state;
    if (state != State::kUnderWay && state != State::kSourceRead) continue;
    const Write& write = writes_[number];
    return checks::reads_bulk_store(w, op, lane, word << 2,
                                    {write.block, write.thread, write.op, state == State::kSourceRead});
  }
}

uint32_t ProxyWrites::bulk_store(Warp& w, const Op& op, int lane, const std::vector<BulkPart>& parts) {
  const Block& b = *w.block;
  if (writes_.size() >= kMostWrites) return 0;
  const uint32_t number = static_cast<uint32_t>(writes_.size());
  writes_.push_back({b.linear, op.index, b.thread_of(w, lane), b.tick, fences_, State::kUnderWay});
  any_bulk_ = true;
  // Words that it writes whole: of others, a thread may read the rest.
  for (const BulkPart& p : parts) put((p.global + 3) >> 2, (p.global + p.bytes) >> 2, number << kLaneBits);
  return number;
}

bool ProxyWrites::is_fenced(const Warp& w, int lane, const Write& write, uint32_t thread) const {
  const Block& b = *w.block;
  if (latest_async_fence_ <= write.fences) return false;  // there was none at all
  if (write.block != b.linear || !is_ordered(b, w, lane, write.tick, thread)) return true;
  return b.unit && b.unit->is_proxied(w, lane, write.tick, thread, Proxied::kGlobal);
}

void ProxyWrites::bulk_read(Warp& w, const Op& op, int lane, const BulkPart& part) {
  if (writes_.size() == 1) return;
  uint32_t before = 0;
  for (uint64_t word = (part.global + 3) >> 2; word < (part.global + part.bytes) >> 2; ++word) {
    const uint32_t* piece = pieces_[pieces_.index_of(word << 2)];
    if (piece == nullptr) {
      word |= kWords - 1;
      continue;
    }
    const uint32_t entry = piece[word % kWords];
    if (entry == 0 || entry == before) continue;
    before = entry;
    const Write& write = writes_[entry >> kLaneBits];
    const checks::WrittenBy by{write.block, thread_of(entry), write.op, write.state == State::kSourceRead};
    if (is_bulk(entry >> kLaneBits)) {
      if (write.state != State::kOver) return checks::reads_bulk_store(w, op, lane, word << 2, by);
    } else if (!is_fenced(w, lane, write, by.thread)) {
      return checks::missing_global_proxy_fence(w, op, lane, word << 2, by);
    }
  }
}

void ProxyWrites::use_map(Warp& w, const Op& op, int lane, uint64_t address) {
  if (writes_.size() == 1 ||
      !(DeviceMemory::in_device_arena(address) || DeviceMemory::in_pinned_arena(address)))
    return;
  uint32_t newest = 0;
  for (uint64_t word = address >> 2; word < (address + sizeof(TensorMap)) >> 2; ++word)
    if (const uint32_t entry = at(word); entry > newest && !is_bulk(entry >> kLaneBits)) newest = entry;
  if (newest == 0) return;
  const Write& write = writes_[newest >> kLaneBits];
  const Block& b = *w.block;
  const auto acquired_by = [&](const Block& block) {
    const auto found = acquires_.find({block.linear, address});
    return found != acquires_.end() && found->second > write.fences;
  };
  bool acquired = acquired_by(b);
  if (b.cluster != nullptr)
    for (const Block* other : b.cluster->blocks) acquired |= acquired_by(*other);
  const auto release = releases_.find(write.block);
  const bool released =
      write.state == State::kReleasedMap || (release != releases_.end() && release->second > write.fences);
  if (acquired && released) return;
  checks::stale_tensor_map(w, op, lane, address, {write.block, thread_of(newest), write.op, false}, released,
                           acquired);
}

void ProxyWrites::map_copied(uint64_t address) {
  writes_[at(address >> 2) >> kLaneBits].state = State::kReleasedMap;
}

void ProxyWrites::map_fence(const Block& b, MapFence fence, uint64_t address) {
  ++fences_;
  if (fence == MapFence::kRelease)
    releases_[b.linear] = fences_;
  else
    acquires_[{b.linear, address}] = fences_;
}

}  // namespace vgpu
