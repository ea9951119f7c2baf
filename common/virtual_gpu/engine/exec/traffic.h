// How the hardware would carry out a warp's access: 32-byte sectors of device memory, wavefronts of the
// banked shared memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "exec/op.h"

namespace vgpu {

// Distinct sectors among the lanes' addresses, sorted, in `out`; an access never straddles a sector
// (accesses are aligned and at most 32 bytes wide). Returns how many.
inline int distinct_sectors(const uint64_t* address, Mask mask, uint64_t* out) {
  int n = 0;
  bool sorted = true;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const uint64_t s = address[std::countr_zero(m)] >> 5;
    if (n > 0 && s == out[n - 1]) continue;
    sorted &= n == 0 || s > out[n - 1];
    out[n++] = s;
  }
  if (!sorted) {
    std::sort(out, out + n);
    n = static_cast<int>(std::unique(out, out + n) - out);
  }
  return n;
}

// Passes that the 32 banks (4 bytes each) need: in one pass a bank serves one word. Wide accesses are
// served in groups of lanes, one after the other: 32 lanes at up to 4 bytes, 16 at 8, 8 at 16.
struct Wavefronts {
  int total = 0;
  int ideal = 0;  // without bank conflicts
};

// The most distinct words that one bank has to serve.
inline int bank_passes(const uint32_t* words, int n) {
  uint32_t seen[32][4] = {};
  uint8_t count[32] = {};
  int most = 1;
  for (int i = 0; i < n; ++i) {
    const uint32_t bank = words[i] & 31;
    uint8_t& c = count[bank];
    bool known = false;
    for (int j = 0; j < std::min<int>(c, 4) && !known; ++j) known = seen[bank][j] == words[i];
    if (!known && c >= 4) {
      // Deep conflicts: look back over the whole list.
      for (int j = 0; j < i && !known; ++j) known = words[j] == words[i];
    }
    if (known) continue;
    if (c < 4) seen[bank][c] = words[i];
    most = std::max<int>(most, ++c);
  }
  return most;
}

// Wide loads in which neighbours share an address (lane with lane^1 throughout, or with lane^2) are served in
// groups twice as large: measured on an H200 over every lane pattern tried. Stores never are.
inline bool lanes_paired(const uint32_t* address, Mask mask) {
  for (int step = 1; step <= 2; ++step) {
    bool all = true;
    for (int i = 0; i < kLanes && all; ++i)
      all = !(mask >> i & 1) || !(mask >> (i ^ step) & 1) || address[i] == address[i ^ step];
    if (all) return true;
  }
  return false;
}

inline Wavefronts shared_wavefronts(const uint32_t* address, uint32_t bytes, Mask mask, bool pairs) {
  Wavefronts w;
  if (mask == 0) return w;
  int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const uint32_t words_a_lane = std::max(1u, bytes / 4);
  // The usual case: neighbouring lanes, neighbouring words, or one word for all.
  const int first = std::countr_zero(mask);
  const uint32_t base = address[first];
  uint32_t off = 0, same = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t on = mask >> i & 1 ? ~0u : 0;
    off |= (address[i] ^ (base + static_cast<uint32_t>(i - first) * bytes)) & on;
    same |= (address[i] ^ base) & on;
  }
  // Neighbours that are off agree with anything, so a contiguous access with gaps may be paired too.
  const bool paired = pairs && bytes > 4 && (off != 0 || mask != kAllLanes) && lanes_paired(address, mask);
  if (paired) group *= 2;
  for (int g = 0; g < kLanes; g += group) {
    const Mask part = group == 32 ? mask : mask >> g & ((1u << group) - 1);
    if (part == 0) continue;
    ++w.ideal;
    if ((off == 0 && !paired) || same == 0) {
      ++w.total;
      continue;
    }
    // No bank twice: nothing to count. Wide accesses occupy aligned runs of banks.
    uint32_t banks = 0;
    bool apart = true;
    const uint32_t own = words_a_lane == 1 ? 1u : words_a_lane == 2 ? 3u : 15u;
    for (Mask m = part; m != 0; m &= m - 1) {
      const uint32_t bits = own << (address[g + std::countr_zero(m)] / 4 & 31);
      apart &= (banks & bits) == 0;
      banks |= bits;
    }
    if (apart) {
      ++w.total;
      continue;
    }
    uint32_t words[64];
    int n = 0;
    for (Mask m = part; m != 0; m &= m - 1) {
      const uint32_t a = address[g + std::countr_zero(m)] / 4;
      for (uint32_t k = 0; k < words_a_lane; ++k) words[n++] = a + k;
    }
    w.total += bank_passes(words, n);
  }
  return w;
}

// Atomics are served lane by lane within a bank, equal words included. Adding the constant 1 without asking
// for the old value is counted up by word. A compare-and-swap passes twice; so does an add that shared memory
// cannot do itself (float, 64 bits) and ptxas therefore writes as a loop of compare-and-swaps, one lane a
// round.
enum class SharedAtomic : uint8_t { kPlain, kCountUp, kSwap, kSwapLoop };

inline Wavefronts shared_atomic_wavefronts(const uint32_t* address, uint32_t bytes, Mask mask,
                                           SharedAtomic kind) {
  if (kind == SharedAtomic::kCountUp) return shared_wavefronts(address, bytes, mask, false);
  Wavefronts w;
  int lanes[32] = {}, most = 0;
  for (Mask m = mask; m != 0; m &= m - 1)
    most = std::max(most, ++lanes[address[std::countr_zero(m)] / 4 & 31]);
  w.total = kind == SharedAtomic::kPlain ? most : 2 * most;
  w.ideal = kind == SharedAtomic::kSwapLoop ? w.total : w.total - std::max(0, most - 1);
  return w;
}

// A global atomic takes one pass over a sector for each lane that wants the same element of it.
inline int atomic_sectors(const uint64_t* address, Mask mask) {
  struct Element {
    uint64_t address;
    int lanes;
  };
  Element elements[kLanes];
  int n = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const uint64_t a = address[std::countr_zero(m)];
    int i = 0;
    while (i < n && elements[i].address != a) ++i;
    if (i == n) elements[n++] = {a, 0};
    ++elements[i].lanes;
  }
  int total = 0;
  for (int i = 0; i < n; ++i) {
    // The sector counts once, for its busiest element; of equals the first stands for all.
    bool busiest = true;
    for (int j = 0; j < n && busiest; ++j)
      if (j != i && elements[j].address >> 5 == elements[i].address >> 5)
        busiest = elements[j].lanes < elements[i].lanes || (elements[j].lanes == elements[i].lanes && i < j);
    if (busiest) total += elements[i].lanes;
  }
  return total;
}

// cp.async.cg goes past L1: a sector is asked for once for each 32-byte piece of shared memory it fills from
// a 128-byte line, so rows that start off a 32-byte boundary cost one more.
inline int bypass_sectors(const uint64_t* source, const uint32_t* destination, Mask mask) {
  uint64_t pairs[kLanes];
  int n = 0;
  for (Mask m = mask; m != 0; m &= m - 1) {
    const int lane = std::countr_zero(m);
    pairs[n++] = (source[lane] >> 7) << 24 | (destination[lane] >> 5 & 0xffffff);
  }
  if (!std::is_sorted(pairs, pairs + n)) std::sort(pairs, pairs + n);
  return static_cast<int>(std::unique(pairs, pairs + n) - pairs);
}

}  // namespace vgpu
