#include "cost/busiest_sm.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace vgpu {
namespace {

// The blocks of each slot, an SM's room for one of its resident blocks: slots turn by turn, all SMs.
template <class Started>
void deal(const std::vector<uint64_t>& work, uint64_t slots, Started started) {
  using Slot = std::pair<uint64_t, uint64_t>;  // when its block ends, and its number
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> running;
  for (uint64_t i = 0; i < work.size(); ++i) {
    Slot slot{0, i};
    if (i >= slots) {
      slot = running.top();
      running.pop();
    }
    slot.first += work[i];
    started(slot.second, work[i]);
    running.push(slot);
  }
}

}  // namespace

std::vector<uint64_t> busiest_sm(const std::vector<uint64_t>& work, uint64_t sms, uint64_t resident) {
  std::vector<std::vector<uint64_t>> dealt(sms);
  deal(work, sms * resident, [&](uint64_t slot, uint64_t block) { dealt[slot % sms].push_back(block); });
  const auto all_of = [](const std::vector<uint64_t>& blocks) {
    return std::accumulate(blocks.begin(), blocks.end(), uint64_t{0});
  };
  return *std::max_element(dealt.begin(), dealt.end(),
                           [&](const auto& a, const auto& b) { return all_of(a) < all_of(b); });
}

uint64_t longest_chain(const std::vector<uint64_t>& work, uint64_t sms, uint64_t resident, uint64_t least) {
  std::vector<uint64_t> chains(std::min<uint64_t>(sms * resident, work.size()));
  deal(work, sms * resident,
       [&](uint64_t slot, uint64_t block) { chains[slot] += block < least ? 0 : block; });
  return chains.empty() ? 0 : *std::max_element(chains.begin(), chains.end());
}

}  // namespace vgpu
