// The accumulator types of the tensor cores: how C joins the products of a tile and becomes D.
//
// A tile's products come as pairs of 32-lane sums, even and odd columns of 8 rows. A 32-bit accumulator has a
// register for each of the two; an f16 accumulator packs both into one. Results go to a buffer first: D may
// name C's registers in another order, so nothing is written before everything is read. Joins are kept out of
// line, as a tile's steps are.
#pragma once

#include <bit>
#include <cstdint>

#include "exec/op.h"
#include "ops/matrix_convert.h"

namespace vgpu::matrix::accumulator {

constexpr uint32_t kQuietNan = 0x7fffffffu;  // the one NaN the tensor cores give

struct F32 {
  static constexpr const char* kName = "f32";
  static constexpr int kRegistersPerPair = 2;

  static void add(const uint8_t* regs, const uint32_t* c, float even[kLanes], float odd[kLanes]) {
    for (int part = 0; part < 2; ++part) {
      const uint8_t* in = regs + c[part];
      float* __restrict sum = part == 0 ? even : odd;
      for (int i = 0; i < kLanes; ++i) sum[i] += load_at<float>(in, i);
    }
  }

  static void finish(const float even[kLanes], const float odd[kLanes], uint32_t d[][kLanes]) {
    for (int part = 0; part < 2; ++part) {
      const float* sum = part == 0 ? even : odd;
      for (int i = 0; i < kLanes; ++i)
        d[part][i] = sum[i] == sum[i] ? std::bit_cast<uint32_t>(sum[i]) : kQuietNan;
    }
  }
};

struct F16 {
  static constexpr const char* kName = "f16";
  static constexpr int kRegistersPerPair = 1;

  static void add(const uint8_t* regs, const uint32_t* c, float even[kLanes], float odd[kLanes]) {
    float in[2 * kLanes];
    halves_to_floats(regs + c[0], in, 2 * kLanes);
    for (int i = 0; i < kLanes; ++i) {
      even[i] += in[2 * i];
      odd[i] += in[2 * i + 1];
    }
  }

  static void finish(const float even[kLanes], const float odd[kLanes], uint32_t d[][kLanes]) {
    float out[2 * kLanes];
    for (int i = 0; i < kLanes; ++i) {
      out[2 * i] = even[i];
      out[2 * i + 1] = odd[i];
    }
    floats_to_halves(out, d[0], 2 * kLanes);
  }
};

// Integer sums join C as integers: a float could not hold them beside a large C.
template <bool kSaturate>
struct S32 {
  static constexpr const char* kName = "s32";
  static constexpr int kRegistersPerPair = 2;

  [[gnu::noinline]] static void join(const uint8_t* regs, const uint32_t* c, const float even[kLanes],
                                     const float odd[kLanes], uint32_t d[][kLanes]) {
    for (int part = 0; part < 2; ++part) {
      const uint8_t* in = regs + c[part];
      const float* sum = part == 0 ? even : odd;
      uint32_t* __restrict out = d[part];
      for (int i = 0; i < kLanes; ++i) out[i] = add(load_at<int32_t>(in, i), static_cast<int32_t>(sum[i]));
    }
  }

 private:
  static uint32_t add(int32_t c, int32_t product) {
    const uint32_t wrapped = static_cast<uint32_t>(c) + static_cast<uint32_t>(product);
    if constexpr (!kSaturate) return wrapped;
    // Overflow shows as a result whose sign differs from that of both terms; the limit has C's sign.
    const uint32_t overflow =
        (wrapped ^ static_cast<uint32_t>(c)) & (wrapped ^ static_cast<uint32_t>(product));
    const uint32_t limit = 0x7fffffffu + (static_cast<uint32_t>(c) >> 31);
    return overflow >> 31 ? limit : wrapped;
  }
};

// Floating point: C and D may differ in type (wmma). C is added once, after the products.
template <class D, class C>
struct Joined {
  static constexpr int kCRegistersPerPair = C::kRegistersPerPair;
  static constexpr int kDRegistersPerPair = D::kRegistersPerPair;
  [[gnu::noinline]] static void join(const uint8_t* regs, const uint32_t* c, float even[kLanes],
                                     float odd[kLanes], uint32_t d[][kLanes]) {
    C::add(regs, c, even, odd);
    D::finish(even, odd, d);
  }
};

template <bool kSaturate>
struct Joined<S32<kSaturate>, S32<kSaturate>> : S32<kSaturate> {
  static constexpr int kCRegistersPerPair = 2;
  static constexpr int kDRegistersPerPair = 2;
};

}  // namespace vgpu::matrix::accumulator
