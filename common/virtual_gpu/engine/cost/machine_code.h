// What ptxas made of a kernel, given from outside: the instructions in the order in which they issue, the
// line of PTX that each was made from, and how long a warp stalls after it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace vgpu {

namespace json {
class Value;
}

struct MachineCode {
  // Throws std::runtime_error when `value` is not
  // {"lines": […], "stalls": […], "memory": "…", "loops": [[first, last], …]}.
  explicit MachineCode(const json::Value& value);

  // A piece of the code: instructions first to last, both inside.
  struct Region {
    uint32_t first = 0, last = 0;
    bool contains(const Region& other) const { return first <= other.first && other.last <= last; }
    uint32_t size() const { return last - first + 1; }
  };

  // The instructions of a region that were made from a line, in order.
  std::vector<uint32_t> made_from(int line, const Region& region) const;
  Region whole() const { return {0, static_cast<uint32_t>(lines.size()) - 1}; }

  std::vector<int> lines;
  std::vector<uint8_t> stalls;  // cycles
  std::string memory;           // a letter for each: L load, S store, U atomic, C cp.async, l and s shared
  std::vector<Region> loops;
  std::vector<Region> inner_loops;  // those that have no other inside

 private:
  std::unordered_map<int, std::vector<uint32_t>> by_line_;
};

}  // namespace vgpu
