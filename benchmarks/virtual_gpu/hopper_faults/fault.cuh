// What the faulty programs of this folder share: Hopper's instructions, and a run over one array of tiles.
#pragma once

#include "../faults/verdict.cuh"
#include "../hopper/instructions.cuh"

constexpr int kTile = 256;  // ints
constexpr int kTiles = 6;
constexpr int kTileBytes = kTile * 4;

inline std::vector<int> tile_values() {
  std::vector<int> values(kTiles * kTile);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 7 % 1001);
  return values;
}

// Runs kernel(in, out) over kTiles tiles; out[i] should be 2 * in[i] for the first `tiles` of them.
template <class Kernel>
int run_tiles(Kernel kernel, int blocks, int threads, int tiles = kTiles) {
  const std::vector<int> values = tile_values();
  int* in = to_device(values);
  int* out = device_zeros<int>(values.size());
  kernel<<<blocks, threads>>>(in, out);
  const std::vector<int> got = to_host(out, values.size());
  bool right = true;
  for (int i = 0; i < tiles * kTile; ++i) right = right && got[i] == 2 * values[i];
  cudaFree(in);
  cudaFree(out);
  return verdict(right);
}
