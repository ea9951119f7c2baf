// Heads on their way into the rows of buckets: which thread takes which elements, and how it reads and writes
// them. What becomes of the elements in between is up to them.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "buckets.cuh"

constexpr int kRowThreads = 256;  // of a block

struct Buckets {
  Bucket of[kMostBuckets];
};

inline Buckets by_value(const Bucket* buckets, int count) {
  Buckets copy{};
  std::copy(buckets, buckets + count, copy.of);
  return copy;
}

// Where a token's heads go.
struct Place {
  int bucket, sequence, entry, slot;
};

struct Move {
  int sequence, from_bucket, from_entry, to_bucket, to_entry, unused;
};

// Eight elements of b bits are b bytes: no byte belongs to two of these.
struct Eight {
  float of[8];
};

// What a lane has of a head, in the order of memory. The second eight may be missing; then they are zeros.
struct Elements {
  Eight eights[2];
};

// How the heads of tokens, or of moves, are dealt out to threads. Lanes that share a head are a power of two,
// so that they stay inside a warp.
struct Dealing {
  unsigned heads;  // of all tokens together: few enough for divisions of 32 bits
  int kv_heads, head_dim, lane_bits;

  Dealing(int tokens, int kv_heads, int head_dim)
      : heads(static_cast<unsigned>(tokens) * kv_heads),
        kv_heads(kv_heads),
        head_dim(head_dim),
        lane_bits(0) {
    while (16 << lane_bits < head_dim) ++lane_bits;
  }
  unsigned blocks() const {
    const unsigned heads_of_a_block = kRowThreads >> lane_bits;
    return (heads + heads_of_a_block - 1) / heads_of_a_block;
  }
};

// A thread's share: 8 * eights elements from element 16 * part on. Behind the last head there are none.
struct Share {
  int token, head, part, lanes, eights;

  __device__ explicit Share(const Dealing& dealing) {
    const unsigned index =
        blockIdx.x * (kRowThreads >> dealing.lane_bits) + (threadIdx.x >> dealing.lane_bits);
    lanes = 1 << dealing.lane_bits;
    part = static_cast<int>(threadIdx.x) & (lanes - 1);
    const bool there = index < dealing.heads;
    token = there ? static_cast<int>(index / dealing.kv_heads) : 0;
    head = there ? static_cast<int>(index - static_cast<unsigned>(token) * dealing.kv_heads) : 0;
    eights = there ? max(0, min(2, dealing.head_dim / 8 - 2 * part)) : 0;
  }
  __device__ bool first_of_token() const { return eights > 0 && head == 0 && part == 0; }
};

// Calls launch(first, count) for so many tokens, or moves, at a time that their heads can be counted.
template <class Launch>
int in_launches(int tokens, int kv_heads, Launch launch) {
  const int most = kv_heads > 0 ? (1 << 30) / kv_heads : 0;
  for (int first = 0; first < tokens && most > 0; first += most) {
    launch(first, std::min(most, tokens - first));
    if (const cudaError_t error = cudaGetLastError()) return error;
  }
  return cudaSuccess;
}

// The same as halves: half the registers, until they are needed.
struct Halves {
  alignas(16) __half of[16];
  __device__ Elements as_floats() const {
    Elements elements;
#pragma unroll
    for (int i = 0; i < 16; ++i) elements.eights[i / 8].of[i % 8] = __half2float(of[i]);
    return elements;
  }
};

// kAligned: `from` is a multiple of 16 bytes.
template <bool kAligned>
__device__ Halves load_halves(const __half* from, int eights) {
  Halves halves;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    if constexpr (kAligned) {
      reinterpret_cast<uint4*>(halves.of)[e] = e < eights ? reinterpret_cast<const uint4*>(from)[e] : uint4{};
    } else {
#pragma unroll
      for (int i = 8 * e; i < 8 * e + 8; ++i) halves.of[i] = e < eights ? from[i] : __half{};
    }
  }
  return halves;
}

// Stores eight packed elements: kBits bytes, at a multiple of 2, 4 or 8 of them.
template <int kBits>
__device__ void store_eight(uint8_t* to, uint64_t packed) {
  if constexpr (kBits == 2) {
    *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(packed);
  } else if constexpr (kBits == 3) {
    for (int i = 0; i < 3; ++i) to[i] = static_cast<uint8_t>(packed >> 8 * i);
  } else if constexpr (kBits == 4) {
    *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(packed);
  } else {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(static_cast<uint32_t>(packed), static_cast<uint32_t>(packed >> 32));
  }
}

// Two times eight at once, at a multiple of as many bytes (of 2 where they are six).
template <int kBits>
__device__ void store_sixteen(uint8_t* to, uint64_t first, uint64_t second) {
  if constexpr (kBits == 2) {
    *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(first | second << 16);
  } else if constexpr (kBits == 3) {
    const uint64_t packed = first | second << 24;
    for (int i = 0; i < 3; ++i) {
      reinterpret_cast<uint16_t*>(to)[i] = static_cast<uint16_t>(packed >> 16 * i);
    }
  } else if constexpr (kBits == 4) {
    *reinterpret_cast<uint2*>(to) = make_uint2(static_cast<uint32_t>(first), static_cast<uint32_t>(second));
  } else {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(static_cast<uint32_t>(first), static_cast<uint32_t>(first >> 32),
                   static_cast<uint32_t>(second), static_cast<uint32_t>(second >> 32));
  }
}

__device__ inline void store_scale(void* scales, int64_t at, float scale, int64_t scale_bytes) {
  if (scale_bytes == 4) {
    static_cast<float*>(scales)[at] = scale;
  } else {
    static_cast<__half*>(scales)[at] = __float2half_rn(scale);
  }
}
