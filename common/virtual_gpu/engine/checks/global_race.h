// Races between blocks in global memory, for those who ask (option global_race): who wrote and who read
// each word in this launch (each byte, where accesses are smaller), and what of it others may know. Launches
// that are checked so run on one CPU thread, in block order.
//
// A block knows what another has done if that one fenced afterwards, then updated a word by an atomic (or
// stored a flag), and this one has seen the word since. Blocks are looked at as a whole: a fence of any
// thread counts for all that its block has done, since a barrier usually stands before it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>

namespace vgpu {

class GlobalRaceMap {
 public:
  // A block that has touched a word, and how many fences it had behind it.
  struct Party {
    uint32_t block = 0;  // + 1; 0: nobody
    uint32_t fences = 0;
    uint32_t op = 0;
  };
  struct Touch {
    Party writer, reader, reader_before;  // of two blocks
  };
  enum class Knows : uint8_t { kNothing, kNoFence, kAll };

  // Calls f for what is known of each word of [address, address + bytes), or of each of its bytes there.
  template <class F>
  void for_each(uint64_t address, uint32_t bytes, F f) {
    const uint64_t end = address + bytes;
    for (uint64_t at = address; at < end;) {
      const uint64_t word = at >> 2, stop = std::min(end, (word + 1) << 2);
      if (stop - at == 4 && (split_.empty() || split_.count(word) == 0)) {
        f(words_[word]);
      } else {
        std::array<Touch, 4>& parts = split(word);
        for (uint64_t byte = at; byte < stop; ++byte) f(parts[byte & 3]);
      }
      at = stop;
    }
  }

  Party party(uint64_t block, uint32_t op) {
    return {static_cast<uint32_t>(block + 1), blocks_[block].fences, op};
  }

  void fence(uint64_t block) { ++blocks_[block].fences; }

  // An atomic or a flag at `address`: a block learns what those before it knew there, and tells what it
  // knows.
  void meet(uint64_t block, uint64_t address, bool learns, bool tells) {
    Known& here = flags_[address >> 2];
    State& me = blocks_[block];
    if (learns) join(me.known, here);
    if (!tells) return;
    join(here, me.known);
    here.insert_or_assign(static_cast<uint32_t>(block + 1), me.fences);
  }

  // What a block may rely on of what another did.
  Knows knows(uint64_t block, const Party& other) {
    const Known& known = blocks_[block].known;
    const auto found = known.find(other.block);
    if (found == known.end()) return Knows::kNothing;
    return found->second > other.fences ? Knows::kAll : Knows::kNoFence;
  }

 private:
  using Known = std::unordered_map<uint32_t, uint32_t>;  // fences of a block, at least
  struct State {
    uint32_t fences = 0;
    Known known;
  };
  static void join(Known& into, const Known& more) {
    for (const auto& [block, fences] : more) {
      uint32_t& mine = into[block];
      mine = std::max(mine, fences);
    }
  }

  // Neighbouring bytes of a word may belong to different blocks.
  std::array<Touch, 4>& split(uint64_t word) {
    const auto [found, is_new] = split_.try_emplace(word);
    if (is_new) {
      const auto whole = words_.find(word);
      if (whole != words_.end()) found->second.fill(whole->second);
    }
    return found->second;
  }

  std::unordered_map<uint64_t, Touch> words_;
  std::unordered_map<uint64_t, std::array<Touch, 4>> split_;  // words that were not always accessed whole
  std::unordered_map<uint64_t, Known> flags_;
  std::unordered_map<uint64_t, State> blocks_;
};

}  // namespace vgpu
