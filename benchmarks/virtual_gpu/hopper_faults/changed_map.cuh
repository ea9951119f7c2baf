// What the faulty programs share that change a tensor map: a map of another array, and room for the new one.
#pragma once

#include "../hopper/tensor.cuh"
#include "fault.cuh"

// Runs kernel(pattern, in, map, out), which copies by `map`; out[i] should be 2 * in[i] for the first tile.
template <class Kernel>
int run_changed_map(Kernel kernel) {
  constexpr cuuint32_t kWidth = 64, kHeight = kTile / kWidth;
  const std::vector<int> values = tile_values();
  int* in = to_device(values);
  int *other = device_zeros<int>(kTile), *out = device_zeros<int>(kTile);
  const CUtensorMap pattern = hopper::tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, other, {kWidth, kHeight},
                                                 {kWidth * 4}, {kWidth, kHeight});
  CUtensorMap* map = to_device(std::vector<CUtensorMap>{pattern});
  kernel<<<1, 128>>>(pattern, in, map, out);
  const std::vector<int> got = to_host(out, kTile);
  bool right = true;
  for (int i = 0; i < kTile; ++i) right = right && got[i] == 2 * values[i];
  for (int* each : {in, other, out}) cudaFree(each);
  cudaFree(map);
  return verdict(right);
}
