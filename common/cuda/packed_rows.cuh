// Packed rows of 128 elements, as the tensor cores want them. Lane (g, t) is (lane / 4, lane % 4).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// Halves of two words, side by side.
__device__ inline uint32_t low_halves(uint32_t a, uint32_t b) {
  return __byte_perm(a, b, 0x5410);
}
__device__ inline uint32_t high_halves(uint32_t a, uint32_t b) {
  return __byte_perm(a, b, 0x7632);
}

// Rows lie in shared memory one after the other, but for pieces of 16 bytes that change places: key_piece()
// and value_piece() say where a piece goes, so that no two lanes of a read meet in a bank.
//
// keys(): a lane's 32 elements of row g, as eight words of four bytes. Element 32 t + x is byte byte_of(x) of
// word word_of(x): a query that is laid out alike can be multiplied with it. The words come in kUnits groups
// of the same size. Bits stay where they were packed, so that elements of group u are 2^(kUnitBits * u) times
// what they should be: products of each group are summed up apart.
//
// values(): a lane's 16 elements of rows t and t + 8, as 16 pairs of halves. Element 16 g + e is a denormal
// number, 2^(shift(e) - 24) for every unit: no instruction is spent on moving its bits down.
template <int kBits>
struct Rows128;

// Keys that a warp attends to at once.
constexpr int chunk_keys(int bits) {
  return bits == 8 ? 16 : bits == 2 ? 64 : 32;
}
constexpr int kMostChunkKeys = 64;

template <int kBits>
struct Lanes {
  static constexpr int kRowBytes = 16 * kBits;
  static constexpr int kStages = kBits == 3 ? 3 : 2;  // chunks in shared memory
  static constexpr int kUnits = kBits == 2 ? 4 : kBits == 8 ? 1 : 2;
  static constexpr int kUnitBits = kBits == 8 ? 0 : kBits;
  static constexpr int kUnit = 1 << (kUnits - 1) * kUnitBits;  // of the sum of all groups' products
  static constexpr int kPieces = kRowBytes / 16;
  const int g, t;
  __device__ explicit Lanes(int lane) : g(lane / 4), t(lane % 4) {}
};

template <>
struct Rows128<2> : Lanes<2> {
  const int key_at, value_at;  // of this lane
  __device__ explicit Rows128(int lane)
      : Lanes(lane), key_at(g * kRowBytes + 8 * t), value_at(t * kRowBytes + 4 * g) {}
  __device__ static int key_piece(int piece) { return piece; }
  __device__ static int value_piece(int piece) { return piece; }
  __device__ static int word_of(int x) { return x % 4 * 2 + x / 16; }
  __device__ static int byte_of(int x) { return x % 16 / 4; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
    const uint2 row = *reinterpret_cast<const uint2*>(rows + key_at);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = row.x & 0x03030303u << 2 * i;
      out[2 * i + 1] = row.y & 0x03030303u << 2 * i;
    }
  }
  __device__ static constexpr int shift(int e) { return e % 8 < 5 ? e % 8 * 2 : (e % 8 - 5) * 2; }
  __device__ void values(const uint8_t* rows, uint32_t (&out)[16]) const {
    const uint32_t a = *reinterpret_cast<const uint32_t*>(rows + value_at);
    const uint32_t b = *reinterpret_cast<const uint32_t*>(rows + value_at + 8 * kRowBytes);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint32_t pair = half ? high_halves(a, b) : low_halves(a, b);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        out[8 * half + i] = (i < 5 ? pair : pair >> 10) & 0x00030003u << shift(i);
      }
    }
  }
};

template <>
struct Rows128<3> : Lanes<3> {
  const int key_at, value_at;
  __device__ explicit Rows128(int lane)
      : Lanes(lane), key_at(g * kRowBytes + 12 * t), value_at(t * kRowBytes + 12 * (g / 2) + 4 * (g % 2)) {}
  __device__ static int key_piece(int piece) { return piece; }
  __device__ static int value_piece(int piece) { return piece; }
  // Elements 0, 3, 5 and 6 of eight come first, then, in units of 8, the other four.
  __device__ static int word_of(int x) { return 0x73261540 >> 4 * (x % 8) & 7; }
  __device__ static int byte_of(int x) { return x / 8; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
    const auto* row = reinterpret_cast<const uint32_t*>(rows + key_at);
    const uint32_t w0 = row[0], w1 = row[1], w2 = row[2];
    // Four groups of three bytes become three words of four bytes, a group in each place.
    const uint32_t b0 = __byte_perm(__byte_perm(w0, w1, 0x0630), w2, 0x5210);
    const uint32_t b1 = __byte_perm(__byte_perm(w0, w1, 0x0741), w2, 0x6210);
    const uint32_t b2 = __byte_perm(__byte_perm(w0, w1, 0x0052), w2, 0x7410);
    const uint32_t from_3 = b1 >> 1, from_6 = b2 >> 2;
    out[0] = b0 & 0x07070707;
    out[1] = from_3 & 0x07070707;
    out[2] = (b1 >> 7 & 0x01010101) | (b2 << 1 & 0x06060606);
    out[3] = from_6 & 0x07070707;
    out[4] = b0 & 0x38383838;
    out[5] = (b0 >> 3 & 0x18181818) | (b1 << 5 & 0x20202020);
    out[6] = from_3 & 0x38383838;
    out[7] = from_6 & 0x38383838;
  }
  __device__ static constexpr int shift(int e) {
    constexpr int kShifts[16] = {0, 3, 6, 0, 3, 0, 2, 5, 0, 3, 0, 1, 4, 7, 2, 5};
    return kShifts[e];
  }
  // A lane's 48 bits begin in the middle of a word for every other lane. Of two rows they become three words
  // of halves: elements 0 to 4 and a bit of the next, 6 to 9 and bits on both sides, 11 to 15 and two bits.
  __device__ void values(const uint8_t* rows, uint32_t (&out)[16]) const {
    const auto* a = reinterpret_cast<const uint32_t*>(rows + value_at);
    const auto* b = reinterpret_cast<const uint32_t*>(rows + value_at + 8 * kRowBytes);
    const uint32_t a0 = a[0], a1 = a[1], b0 = b[0], b1 = b[1];
    const bool odd = g % 2;
    const uint32_t first = __byte_perm(a0, b0, odd ? 0x7632 : 0x5410);
    const uint32_t second = __byte_perm(odd ? a1 : a0, odd ? b1 : b0, odd ? 0x5410 : 0x7632);
    const uint32_t third = __byte_perm(a1, b1, odd ? 0x7632 : 0x5410);
    const auto element = [](uint32_t word, int at) { return word & 0x00070007u << at; };
    out[0] = element(first, 0);
    out[1] = element(first, 3);
    out[2] = element(first, 6);
    out[3] = element(first >> 9, 0);
    out[4] = element(first >> 9, 3);
    out[5] = (first >> 15 & 0x00010001) | (second << 1 & 0x00060006);
    out[6] = element(second, 2);
    out[7] = element(second, 5);
    out[8] = element(second >> 8, 0);
    out[9] = element(second >> 8, 3);
    out[10] = (second >> 14 & 0x00030003) | (third << 2 & 0x00040004);
    out[11] = element(third, 1);
    out[12] = element(third, 4);
    out[13] = element(third, 7);
    out[14] = element(third >> 8, 2);
    out[15] = element(third >> 8, 5);
  }
};

template <>
struct Rows128<4> : Lanes<4> {
  const int key_at, value_at;
  __device__ explicit Rows128(int lane)
      : Lanes(lane),
        key_at(g * kRowBytes + 16 * t),
        value_at(16 * value_piece(kPieces * t + g / 2) + g % 2 * 8) {}
  __device__ static int key_piece(int piece) { return piece; }
  __device__ static int value_piece(int piece) { return piece ^ (piece >> 3 & 1) << 1; }
  __device__ static int word_of(int x) { return x % 2 * 4 + x / 8; }
  __device__ static int byte_of(int x) { return x % 8 / 2; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
    const uint4 row = *reinterpret_cast<const uint4*>(rows + key_at);
    const uint32_t words[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[i] = words[i] & 0x0f0f0f0f;
      out[4 + i] = words[i] & 0xf0f0f0f0;
    }
  }
  __device__ static constexpr int shift(int e) { return e % 2 * 4; }
  __device__ void values(const uint8_t* rows, uint32_t (&out)[16]) const {
    const uint2 a = *reinterpret_cast<const uint2*>(rows + value_at);
    const uint2 b = *reinterpret_cast<const uint2*>(rows + value_at + 8 * kRowBytes);
    const uint32_t pairs[4] = {low_halves(a.x, b.x), high_halves(a.x, b.x), low_halves(a.y, b.y),
                               high_halves(a.y, b.y)};
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      const uint32_t pair = pairs[e / 4];
      out[e] = (e % 4 < 2 ? pair : pair >> 8) & 0x000f000fu << shift(e);
    }
  }
};

template <>
struct Rows128<8> : Lanes<8> {
  const int key_at, value_at;
  __device__ explicit Rows128(int lane)
      : Lanes(lane),
        key_at(16 * key_piece(kPieces * g + 2 * t)),
        value_at(16 * value_piece(kPieces * t + g)) {}
  __device__ static int key_piece(int piece) { return piece ^ (piece >> 3 & 1); }
  __device__ static int value_piece(int piece) { return piece ^ (piece >> 3 & 3) << 1; }
  __device__ static int word_of(int x) { return x / 4; }
  __device__ static int byte_of(int x) { return x % 4; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint4 row = *reinterpret_cast<const uint4*>(rows + (key_at ^ 16 * i));
      out[4 * i] = row.x;
      out[4 * i + 1] = row.y;
      out[4 * i + 2] = row.z;
      out[4 * i + 3] = row.w;
    }
  }
  __device__ static constexpr int shift(int) { return 0; }
  __device__ void values(const uint8_t* rows, uint32_t (&out)[16]) const {
    const uint4 a = *reinterpret_cast<const uint4*>(rows + value_at);
    const uint4 b = *reinterpret_cast<const uint4*>(rows + value_at + 8 * kRowBytes);
    const uint32_t pairs[8] = {low_halves(a.x, b.x),  high_halves(a.x, b.x), low_halves(a.y, b.y),
                               high_halves(a.y, b.y), low_halves(a.z, b.z),  high_halves(a.z, b.z),
                               low_halves(a.w, b.w),  high_halves(a.w, b.w)};
#pragma unroll
    for (int e = 0; e < 16; ++e) out[e] = (e % 2 ? pairs[e / 2] >> 8 : pairs[e / 2]) & 0x00ff00ff;
  }
};
