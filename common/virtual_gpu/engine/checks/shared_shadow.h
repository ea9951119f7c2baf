// What the race and initialisation checks remember of shared memory. For every word: who wrote it last, who
// last updated it by an atomic, and up to two threads that read it since. A stamp is the block's tick at the
// access and the access itself (thread and op). Ticks never restart, so a stamp from an earlier block is
// simply old.
//
// Words whose bytes belong to different threads (half and byte arrays) are "split": then each byte has
// stamps of its own. A write of the whole word makes it one again.
#pragma once

#include <cstdint>
#include <vector>

namespace vgpu {

struct Stamp {
  uint32_t tick = 0;
  uint32_t who = 0;  // thread << 22 | atomic << 21 | op
};

constexpr uint32_t kWhoOpBits = 21;
constexpr uint32_t kWhoAtomic = 1u << kWhoOpBits;
inline uint32_t who_thread(uint32_t who) {
  return who >> 22;
}
inline uint32_t who_op(uint32_t who) {
  return who & (kWhoAtomic - 1);
}
inline uint32_t make_who(uint32_t thread, uint32_t op, bool atomic) {
  return thread << 22 | (atomic ? kWhoAtomic : 0) | (op & (kWhoAtomic - 1));
}

// Ticks and accesses lie in separate arrays: "has anything happened here since the last barrier" is then
// a vector comparison over neighbouring words.
struct StampArrays {
  std::vector<uint32_t> write_tick, write_who, read_tick, read_who, read2_tick, read2_who, atomic_tick,
      atomic_who;
  void resize(size_t n) {
    for (auto* v :
         {&write_tick, &write_who, &read_tick, &read_who, &read2_tick, &read2_who, &atomic_tick, &atomic_who})
      v->resize(n, 0);
  }
  size_t size() const { return write_tick.size(); }
};

struct SharedShadow {
  StampArrays words, bytes;         // `bytes` is sized when a word is first split
  std::vector<uint32_t> split;      // tick at which the word was split; current when >= the block's start
  std::vector<uint32_t> in_flight;  // per word: pending cp.async (who + 1 of it), 0: none
  std::vector<uint32_t> copy_who, copy_group;  // per word: the cp.async that arrived last, and its group
  bool any_split = false;
  uint32_t last_atomic = 0;  // tick of the latest atomic anywhere

  void resize(uint32_t shared_bytes) {
    const size_t n = (shared_bytes + 3) / 4;
    if (words.size() >= n) return;
    words.resize(n);
    split.resize(n, 0);
    in_flight.resize(n, 0);
    copy_who.resize(n, 0);
    copy_group.resize(n, 0);
    if (bytes.size() != 0) bytes.resize(n * 4);
  }
};

}  // namespace vgpu
