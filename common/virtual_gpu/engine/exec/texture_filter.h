// Where a coordinate of a texture leads: along one dimension, the texels it reads and their weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "protocol_texture.h"

namespace vgpu {

struct Taps {
  int64_t at[2] = {0, 0};
  bool inside[2] = {true, true};  // false: the border's colour is read
  float weight[2] = {1, 0};
};

// The texel that stands for one outside of 0 … size - 1.
inline int64_t place_texel(int64_t i, int64_t size, wire::AddressMode mode, bool* inside) {
  *inside = i >= 0 && i < size;
  if (*inside || mode == wire::AddressMode::kBorder) return i;
  *inside = true;
  if (mode == wire::AddressMode::kClamp) return std::clamp<int64_t>(i, 0, size - 1);
  const int64_t period = mode == wire::AddressMode::kWrap ? size : 2 * size;
  const int64_t folded = ((i % period) + period) % period;
  return folded < size ? folded : 2 * size - 1 - folded;
}

// Between texels the hardware weighs in steps of 1/256.
inline Taps taps_of(float x, int64_t size, wire::AddressMode mode, bool linear, bool normalized) {
  // Coordinates that are not from 0 to 1 can only be clamped, or fall on the border.
  if (!normalized && mode != wire::AddressMode::kBorder) mode = wire::AddressMode::kClamp;
  if (std::isnan(x)) x = 0;
  double scaled = normalized ? static_cast<double>(x) * static_cast<double>(size) : x;
  constexpr double kFar = 1e15;  // whole numbers and their neighbours are still exact
  scaled = std::clamp(scaled, -kFar, kFar);
  Taps taps;
  if (!linear) {
    taps.at[0] = place_texel(static_cast<int64_t>(std::floor(scaled)), size, mode, &taps.inside[0]);
    return taps;
  }
  const double steps = std::floor((scaled - 0.5) * 256 + 0.5);
  const double first = std::floor(steps / 256);
  taps.weight[1] = static_cast<float>((steps - first * 256) / 256);
  taps.weight[0] = 1 - taps.weight[1];
  for (int i = 0; i < 2; ++i)
    taps.at[i] = place_texel(static_cast<int64_t>(first) + i, size, mode, &taps.inside[i]);
  return taps;
}

}  // namespace vgpu
