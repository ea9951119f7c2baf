// How the addresses of a warp's lanes lie to each other: most accesses are neighbours or all the same, and
// then checks, counts and copies need no look at each lane.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/op.h"
#include "ops/lane_map.h"

namespace vgpu {

struct Shape {
  bool dense = false;       // active lanes are neighbours
  bool contiguous = false;  // … and so are their addresses
  bool uniform = false;
  int first = 0, count = 0;
};

template <class A>
inline Shape shape_of(const A* address, Mask mask, uint32_t bytes) {
  Shape s;
  s.first = std::countr_zero(mask);
  s.count = std::popcount(mask);
  const Mask run = mask >> s.first;
  s.dense = (run & (run + 1)) == 0;
  const A base = address[s.first];
  A off = 0, same = 0;
  if (mask == kAllLanes) {
    for (int i = 0; i < kLanes; ++i) {
      off |= address[i] ^ (base + static_cast<A>(i) * bytes);
      same |= address[i] ^ base;
    }
  } else {
    for (int i = 0; i < kLanes; ++i) {
      const A on = ops::lane_is_on<A>(mask, i) ? ~A{0} : A{0};
      off |= (address[i] ^ (base + static_cast<A>(i - s.first) * bytes)) & on;
      same |= (address[i] ^ base) & on;
    }
  }
  s.contiguous = s.dense && off == 0;
  s.uniform = same == 0;
  return s;
}

}  // namespace vgpu
