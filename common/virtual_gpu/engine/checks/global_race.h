// Races between blocks in global memory, for those who ask (option global_race): who wrote and who read
// each word in this launch, and what of it others may know. Launches that are checked so run on one CPU
// thread, in block order.
//
// A block knows what another has done if that one fenced afterwards, then updated a word by an atomic (or
// stored a flag), and this one has seen the word since. Blocks are looked at as a whole: a fence of any
// thread counts for all that its block has done, since a barrier usually stands before it.
#pragma once

#include <algorithm>
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
    bool writer_atomic = false;
  };
  enum class Knows : uint8_t { kNothing, kNoFence, kAll };

  Touch& at(uint64_t address) { return words_[address >> 2]; }

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

  std::unordered_map<uint64_t, Touch> words_;
  std::unordered_map<uint64_t, Known> flags_;
  std::unordered_map<uint64_t, State> blocks_;
};

}  // namespace vgpu
