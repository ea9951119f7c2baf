// Rows in shared memory whose pieces of 16 bytes change places, so that no two lanes of a matrix load meet in
// a bank.
//
// Shared memory has 32 banks of 4 bytes: rows of 128 bytes all begin in bank 0, and eight of them at the same
// column are eight addresses in the same four banks. With piece p of row r at place p ^ r % 8 they are in
// all 32 banks once. Padding would do the same for loads, but 16-byte copies need 16-byte places.
#pragma once

#include <cstdint>

constexpr int kPieceBytes = 16;

// Where a piece lies in a tile of rows, in bytes.
template <int kRowBytes>
__host__ __device__ constexpr int swizzled(int row, int piece) {
  static_assert(kRowBytes % 128 == 0, "a row fills all banks, once or several times");
  return row * kRowBytes + (piece ^ row % 8) * kPieceBytes;
}

// How many of `count` places of 16 bytes, read at once, meet in the fullest bank: 1 is without conflict.
template <class PlaceOf>
constexpr int bank_conflict(int count, PlaceOf place_of) {
  int readers[8] = {};  // of each four banks
  int most = 0;
  for (int i = 0; i < count; ++i) {
    const int now = ++readers[place_of(i) / kPieceBytes % 8];
    most = now > most ? now : most;
  }
  return most;
}
