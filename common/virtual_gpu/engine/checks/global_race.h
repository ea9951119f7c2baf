// Races between blocks in global memory, for those who ask (option global_race): who wrote and who read
// each word in this launch. Launches that are checked so run on one CPU thread, in block order.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace vgpu {

class GlobalRaceMap {
 public:
  struct Touch {
    uint32_t writer = 0, reader = 0;  // block + 1; 0: nobody
    uint32_t writer_op = 0, reader_op = 0;
    bool writer_atomic = false, two_readers = false;
  };
  Touch& at(uint64_t address) { return words_[address >> 2]; }

 private:
  std::unordered_map<uint64_t, Touch> words_;
};

}  // namespace vgpu
