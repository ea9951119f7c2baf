// Where the elements of an mma.sync tile live, written down once for the host references and loaders: group
// is lane / 4, place is lane % 4, as in the PTX manual's figures.
#pragma once

#include "check.cuh"

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Row and column of an accumulator's element k (0 to 3) in a 16 x 8 tile.
__device__ inline int accumulator_row(int lane, int k) {
  return lane / 4 + (k / 2) * 8;
}
__device__ inline int accumulator_column(int lane, int k) {
  return lane % 4 * 2 + k % 2;
}

// Loads the words of a row-major A tile: kWords is 2 or 4, each word holds kPack elements along a row. Words
// 0 and 1 are rows group and group + 8 of the left half, words 2 and 3 those of the right half.
template <int kWords, int kPack, typename T>
__device__ void load_a(uint32_t (&a)[kWords], const T* tile, int columns, int lane) {
  for (int w = 0; w < kWords; ++w) {
    const int row = lane / 4 + (w % 2) * 8, column = lane % 4 * kPack + (w / 2) * 4 * kPack;
    a[w] = *reinterpret_cast<const uint32_t*>(tile + row * columns + column);
  }
}

// Loads the words of a B tile stored column by column: word w holds rows place * kPack + w * 4 * kPack
// onwards.
template <int kWords, int kPack, typename T>
__device__ void load_b(uint32_t (&b)[kWords], const T* columns_of_b, int rows, int lane) {
  for (int w = 0; w < kWords; ++w) {
    const int column = lane / 4, row = lane % 4 * kPack + w * 4 * kPack;
    b[w] = *reinterpret_cast<const uint32_t*>(columns_of_b + column * rows + row);
  }
}
