// The shapes of wmma and how many registers their fragments take, for the arithmetic and for the layouts.
#pragma once

#include <type_traits>

#include "ops/matrix_elements.h"
#include "ops/matrix_tile.h"

namespace vgpu::matrix {

struct WmmaShape {
  int m, n, k;
};

// A and B of one shape and type. f16 fragments are eight registers in every shape, as they were on the first
// tensor cores: what is needed, repeated until they are full.
template <class Element, WmmaShape kShape>
struct WmmaFragments {
  using TileType = Tile<Element, Element, 16, kShape.k>;
  static constexpr bool kIsF16 = std::is_same_v<Element, element::F16>;
  static constexpr int kElementsOfLane = kLanes * Element::kPerRegister;
  static constexpr int kADistinct = kShape.m * kShape.k / kElementsOfLane;
  static constexpr int kBDistinct = kShape.n * kShape.k / kElementsOfLane;
  static constexpr int kARegisters = kIsF16 ? 8 : kADistinct;
  static constexpr int kBRegisters = kIsF16 ? 8 : kBDistinct;
};

}  // namespace vgpu::matrix
