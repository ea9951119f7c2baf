#include "cost/machine_code.h"

#include <algorithm>
#include <stdexcept>

#include "json.h"

namespace vgpu {
namespace {

const json::Value& member(const json::Value& value, const char* name) {
  const json::Value* found = value.get(name);
  if (found == nullptr) throw std::runtime_error(std::string("machine code without '") + name + "'");
  return *found;
}

}  // namespace

MachineCode::MachineCode(const json::Value& value) {
  for (const json::Value& line : member(value, "lines").array()) {
    by_line_[static_cast<int>(line.number())].push_back(static_cast<uint32_t>(lines.size()));
    lines.push_back(static_cast<int>(line.number()));
  }
  for (const json::Value& stall : member(value, "stalls").array())
    stalls.push_back(static_cast<uint8_t>(stall.number()));
  memory = member(value, "memory").string();
  if (lines.empty() || lines.size() != stalls.size() || lines.size() != memory.size())
    throw std::runtime_error("machine code needs a line, a stall and a letter for each instruction");
  for (const json::Value& loop : member(value, "loops").array()) {
    const auto& ends = loop.array();
    if (ends.size() != 2) throw std::runtime_error("a loop of machine code is a pair of instructions");
    const Region region{static_cast<uint32_t>(ends[0].number()), static_cast<uint32_t>(ends[1].number())};
    if (region.first > region.last || region.last >= lines.size())
      throw std::runtime_error("a loop of machine code that is not inside it");
    loops.push_back(region);
  }
  for (const Region& loop : loops)
    if (std::none_of(loops.begin(), loops.end(),
                     [&](const Region& other) { return loop.contains(other) && other.size() < loop.size(); }))
      inner_loops.push_back(loop);
}

std::vector<uint32_t> MachineCode::made_from(int line, const Region& region) const {
  const auto found = by_line_.find(line);
  if (found == by_line_.end()) return {};
  const auto begin = std::lower_bound(found->second.begin(), found->second.end(), region.first);
  const auto end = std::upper_bound(begin, found->second.end(), region.last);
  return {begin, end};
}

}  // namespace vgpu
