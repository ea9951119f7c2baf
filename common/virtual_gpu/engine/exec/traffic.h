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
// served in groups of lanes: 32 at up to 4 bytes, 16 at 8, 8 at 16.
struct Wavefronts {
  int total = 0;
  int ideal = 0;  // without bank conflicts
};

inline int bank_passes(const uint32_t* words, int n) {
  // Distinct words per bank; n is small.
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

inline Wavefronts shared_wavefronts(const uint32_t* address, uint32_t bytes, Mask mask) {
  Wavefronts w;
  if (mask == 0) return w;
  const int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
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
  for (int g = 0; g < kLanes; g += group) {
    const Mask part = group == 32 ? mask : mask >> g & ((1u << group) - 1);
    if (part == 0) continue;
    ++w.ideal;
    if (off == 0 || same == 0) {
      ++w.total;
      continue;
    }
    uint32_t words[32];
    int n = 0;
    for (Mask m = part; m != 0; m &= m - 1) {
      const uint32_t a = address[g + std::countr_zero(m)] / 4;
      for (uint32_t k = 0; k < words_a_lane; ++k) words[n++] = a + k;
    }
    w.total += bank_passes(words, n);
  }
  return w;
}

}  // namespace vgpu
