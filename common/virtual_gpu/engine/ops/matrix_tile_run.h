// Runs an mma as one tile, or a wmma as two, from register to register.
#pragma once

#include <cstdint>
#include <cstring>

#include "exec/warp.h"
#include "ops/matrix_accumulator.h"
#include "ops/matrix_tile.h"

namespace vgpu::matrix {

// From one tile to the next, A moves on by kAStep registers and B by kBStep; C and D follow on.
template <class T, class D, class C, int kTiles, int kAStep, int kBStep>
inline void run_tiles(Warp& w, const uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) {
  using Joined = accumulator::Joined<D, C>;
  ++w.matrix_instructions;
  constexpr int kPairs = kTiles * T::kRowHalves;
  constexpr int kResults = kPairs * Joined::kDRegistersPerPair;
  alignas(64) float sums[kTiles * T::kSums][kLanes];
  alignas(64) uint32_t results[kResults][kLanes];
  for (int tile = 0; tile < kTiles; ++tile) {
    T::multiply(w.regs, a + tile * kAStep, b + tile * kBStep, sums + tile * T::kSums);
  }
  for (int pair = 0; pair < kPairs; ++pair) {
    Joined::join(w.regs, c + pair * Joined::kCRegistersPerPair, sums[2 * pair], sums[2 * pair + 1],
                 results + pair * Joined::kDRegistersPerPair);
  }
  for (int i = 0; i < kResults; ++i) std::memcpy(w.regs + d[i], results[i], kRegisterBytes);
}

}  // namespace vgpu::matrix
