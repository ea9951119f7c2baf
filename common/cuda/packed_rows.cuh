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
// word word_of(x): a query that is laid out alike can be multiplied with it.
//
// values(): a lane's 16 elements of rows t and t + 8, as 16 pairs of halves. Element 16 g + e is a denormal
// number, 2^(shift(e) - 24) for every unit: no instruction is spent on moving its bits down.
template <int kBits>
struct Rows128;

template <int kBits>
struct Lanes {
  static constexpr int kRowBytes = 16 * kBits;
  static constexpr int kChunkKeys = kBits == 8 ? 16 : 32;
  static constexpr int kStages = kBits == 2 ? 4 : kBits == 3 ? 3 : 2;
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
  __device__ static int word_of(int x) { return x / 16 * 4 + x % 4; }
  __device__ static int byte_of(int x) { return x % 16 / 4; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
    const uint2 row = *reinterpret_cast<const uint2*>(rows + key_at);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[i] = row.x >> 2 * i & 0x03030303;
      out[4 + i] = row.y >> 2 * i & 0x03030303;
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
  __device__ static int word_of(int x) { return x % 8; }
  __device__ static int byte_of(int x) { return x / 8; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
    const auto* row = reinterpret_cast<const uint32_t*>(rows + key_at);
    const uint32_t w0 = row[0], w1 = row[1], w2 = row[2];
    // Four groups of three bytes become three words of four bytes, a group in each place.
    const uint32_t b0 = __byte_perm(__byte_perm(w0, w1, 0x0630), w2, 0x5210);
    const uint32_t b1 = __byte_perm(__byte_perm(w0, w1, 0x0741), w2, 0x6210);
    const uint32_t b2 = __byte_perm(__byte_perm(w0, w1, 0x0052), w2, 0x7410);
    out[0] = b0 & 0x07070707;
    out[1] = b0 >> 3 & 0x07070707;
    out[2] = (b0 >> 6 & 0x03030303) | (b1 << 2 & 0x04040404);
    out[3] = b1 >> 1 & 0x07070707;
    out[4] = b1 >> 4 & 0x07070707;
    out[5] = (b1 >> 7 & 0x01010101) | (b2 << 1 & 0x06060606);
    out[6] = b2 >> 2 & 0x07070707;
    out[7] = b2 >> 5 & 0x07070707;
  }
  __device__ static constexpr int shift(int e) { return e % 5 < 3 ? e % 5 * 3 : (e % 5 - 3) * 3; }
  // A lane's 48 bits, which begin in the middle of a word for every other lane, as quarters of five elements.
  __device__ void quarters(const uint8_t* row, uint32_t (&out)[4]) const {
    const auto* words = reinterpret_cast<const uint32_t*>(row);
    const uint32_t low = __funnelshift_r(words[0], words[1], 16 * (g % 2));
    const uint32_t high = words[1] >> 16 * (g % 2);
    out[0] = low;
    out[1] = low >> 15;
    out[2] = __funnelshift_r(low, high, 30);
    out[3] = high >> 13;
  }
  __device__ void values(const uint8_t* rows, uint32_t (&out)[16]) const {
    uint32_t a[4], b[4];
    quarters(rows + value_at, a);
    quarters(rows + value_at + 8 * kRowBytes, b);
#pragma unroll
    for (int e = 0; e < 16; ++e) {
      const uint32_t pair = low_halves(a[e / 5], b[e / 5]);
      out[e] = (e % 5 < 3 ? pair : pair >> 9) & 0x00070007u << shift(e);
    }
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
  __device__ static int word_of(int x) { return x / 8 * 2 + x % 2; }
  __device__ static int byte_of(int x) { return x % 8 / 2; }
  __device__ void keys(const uint8_t* rows, uint32_t (&out)[8]) const {
    const uint4 row = *reinterpret_cast<const uint4*>(rows + key_at);
    const uint32_t words[4] = {row.x, row.y, row.z, row.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      out[2 * i] = words[i] & 0x0f0f0f0f;
      out[2 * i + 1] = words[i] >> 4 & 0x0f0f0f0f;
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
    const uint32_t as[4] = {a.x, a.y, a.z, a.w}, bs[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t low = low_halves(as[i], bs[i]), high = high_halves(as[i], bs[i]);
      out[4 * i] = low & 0x00ff00ff;
      out[4 * i + 1] = low >> 8 & 0x00ff00ff;
      out[4 * i + 2] = high & 0x00ff00ff;
      out[4 * i + 3] = high >> 8 & 0x00ff00ff;
    }
  }
};
