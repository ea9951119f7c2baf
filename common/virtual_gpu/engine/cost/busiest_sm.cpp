#include "cost/busiest_sm.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace vgpu {

std::vector<uint64_t> busiest_sm(const std::vector<uint64_t>& work, uint64_t sms, uint64_t resident) {
  using Slot = std::pair<uint64_t, uint64_t>;  // when its block ends, and its number: turn by turn, all SMs
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> running;
  std::vector<std::vector<uint64_t>> dealt(sms);
  for (uint64_t i = 0; i < work.size(); ++i) {
    Slot slot{0, i};
    if (i >= sms * resident) {
      slot = running.top();
      running.pop();
    }
    slot.first += work[i];
    dealt[slot.second % sms].push_back(work[i]);
    running.push(slot);
  }
  const auto all_of = [](const std::vector<uint64_t>& blocks) {
    return std::accumulate(blocks.begin(), blocks.end(), uint64_t{0});
  };
  return *std::max_element(dealt.begin(), dealt.end(),
                           [&](const auto& a, const auto& b) { return all_of(a) < all_of(b); });
}

}  // namespace vgpu
