// How many lanes of a load meet in a bank of shared memory, counted when the program is compiled.
//
// Shared memory has 32 banks of 4 bytes: rows of 128 bytes all begin in bank 0, and eight of them at the same
// column are eight addresses in the same four banks. Padding would spread them, but 16-byte copies need
// 16-byte places; changing the order of a row's pieces (a swizzle) needs no memory.
#pragma once

constexpr int kPieceBytes = 16;

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
