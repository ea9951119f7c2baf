// What one warp's access costs by the engine's own rules (exec/traffic.h), for lane addresses read from
// stdin.
//
// A line in is RULE BYTES MASK, the 32 lanes' addresses, and 32 source addresses (of a copy; else zeros).
// A line out is wavefronts and how many of them are due to conflicts, or sectors and 0.
#include <iostream>
#include <map>
#include <string>

#include "exec/traffic.h"

namespace {

struct Access {
  uint32_t bytes = 0;
  vgpu::Mask mask = 0;
  uint64_t at[vgpu::kLanes] = {}, from[vgpu::kLanes] = {};
  uint32_t shared[vgpu::kLanes] = {};  // `at` as an address in shared memory
};

vgpu::Wavefronts sectors(int count) {
  return {count, count};
}

template <bool kPairs>
vgpu::Wavefronts shared(const Access& a) {
  return vgpu::shared_wavefronts(a.shared, a.bytes, a.mask, kPairs);
}

template <vgpu::SharedAtomic kKind>
vgpu::Wavefronts shared_atomic(const Access& a) {
  return vgpu::shared_atomic_wavefronts(a.shared, a.bytes, a.mask, kKind);
}

const std::map<std::string, vgpu::Wavefronts (*)(const Access&)> kRules = {
    {"shared_load", shared<true>},
    {"shared_store", shared<false>},
    {"shared_atomic", shared_atomic<vgpu::SharedAtomic::kPlain>},
    {"shared_atomic_count_up", shared_atomic<vgpu::SharedAtomic::kCountUp>},
    {"shared_atomic_swap", shared_atomic<vgpu::SharedAtomic::kSwap>},
    {"shared_atomic_swap_loop", shared_atomic<vgpu::SharedAtomic::kSwapLoop>},
    {"global_atomic", [](const Access& a) { return sectors(vgpu::atomic_sectors(a.at, a.mask)); }},
    {"cp_async_ca",
     [](const Access& a) {
       uint64_t distinct[vgpu::kLanes];
       return sectors(vgpu::distinct_sectors(a.from, a.mask, distinct));
     }},
    {"cp_async_cg", [](const Access& a) { return sectors(vgpu::bypass_sectors(a.from, a.shared, a.mask)); }},
};

}  // namespace

int main() {
  std::string rule;
  Access access;
  while (std::cin >> rule >> access.bytes >> access.mask) {
    for (uint64_t& address : access.at) std::cin >> address;
    for (uint64_t& address : access.from) std::cin >> address;
    for (int lane = 0; lane < vgpu::kLanes; ++lane)
      access.shared[lane] = static_cast<uint32_t>(access.at[lane]);
    const vgpu::Wavefronts cost = kRules.at(rule)(access);
    std::cout << cost.total << ' ' << cost.total - cost.ideal << '\n';
  }
}
