// A key/value cache in buckets: the tokens of one width lie together, quantised and packed.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

// One bucket, as the caller describes it in host memory. A head's rows lie one after the other; the entries
// from a sequence's length to the capacity hold anything.
struct Bucket {
  uint8_t* keys;       // [batch][kv_heads][capacity][row_bytes]
  uint8_t* values;     // the same
  void* key_scales;    // [batch][kv_heads][capacity], float or __half
  void* value_scales;  // the same
  int* slots;          // [batch][capacity]: each entry's place in its sequence
  int64_t capacity;  // entries of a sequence, a multiple of 64; every array begins at a multiple of 16 bytes
  int64_t bits;      // 2, 3, 4 or 8
  int64_t scale_bytes;  // 4 or 2
};

constexpr int kMostBuckets = 4;

// Bytes of one head of one token: element 0 in the lowest bits; three bits come eight in three bytes.
__host__ __device__ constexpr int row_bytes(int bits, int head_dim) {
  return bits == 3 ? (head_dim + 7) / 8 * 3 : (head_dim * bits + 7) / 8;
}

// What is added to a quantised value before it is stored: it is never negative then.
__host__ __device__ constexpr int stored_offset(int bits) {
  return 1 << (bits - 1);
}

__device__ inline float scale_at(const void* scales, int64_t entry, int64_t scale_bytes) {
  return scale_bytes == 4 ? static_cast<const float*>(scales)[entry]
                          : __half2float(static_cast<const __half*>(scales)[entry]);
}
