#include "exec/sample_blocks.h"

#include <algorithm>

namespace vgpu {
namespace {

// The i-th number that follows from a seed, with all bits well mixed.
uint64_t mixed(uint64_t seed, uint64_t i) {
  uint64_t x = seed + i * 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

}  // namespace

std::vector<uint64_t> drawn_units(uint64_t units, const Options& options, int launch) {
  std::vector<uint64_t> drawn{0, units - 1};
  const uint64_t wanted = std::min(units, std::max<uint64_t>(2, options.sample_blocks));
  const uint64_t seed = mixed(options.sample_seed, static_cast<uint64_t>(launch) + 1);
  for (uint64_t i = 1; drawn.size() < wanted && i < 64 * wanted; ++i) {
    const uint64_t number = mixed(seed, i) % units;
    if (std::find(drawn.begin(), drawn.end(), number) == drawn.end()) drawn.push_back(number);
  }
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  return drawn;
}

uint64_t run_drawn(Launch& launch, Worker& worker, SampleState& state) {
  const Options& options = launch.env.options;
  const uint64_t in_cluster = launch.cluster.count();
  uint64_t begun = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  for (const uint64_t unit :
       drawn_units(launch.request.grid.count() / in_cluster, options, launch.request.index)) {
    const uint64_t left =
        options.sample_call_instructions - std::min(options.sample_call_instructions, state.instructions_run);
    if (launch.stop || left == 0) break;
    launch.most_instructions = std::min(options.sample_warp_instructions, left);
    begun += in_cluster;
    if (in_cluster > 1) {
      run_cluster(launch, worker, unit, blocks);
    } else {
      if (blocks.empty()) blocks.push_back(std::make_unique<Block>(worker));
      Block& block = *blocks.front();
      block.start(unit);
      if (block.run(false) == Block::Outcome::kDone) ++launch.blocks_done;
      block.end();
    }
    for (const auto& block : blocks) state.instructions_run += block->instructions;
  }
  return begun;
}

}  // namespace vgpu
