// setp and set of f16 and bf16, single and packed.
#include "ops/builders.h"
#include "ops/compare.h"
#include "ops/half_tools.h"

namespace vgpu::ops {
namespace {

// Sign and magnitude become a two's complement integer of the same order, in which the zeros are equal;
// no conversion to f32 is needed.
template <class Format, bool kFtz, bool kPackedHalves>
struct HalfSource {
  using Lane = std::conditional_t<kPackedHalves, uint32_t, uint16_t>;
  static constexpr const char* kModifiers = kFtz ? ".ftz" : "";
  static constexpr int kCmps = std::size(kFloatCmps);
  static constexpr bool kPacked = kPackedHalves, kComplement = false, kEveryday = false;

  template <Cmp kCmp, int kIndex>
  static bool holds(Lane a, Lane b) {
    const uint32_t x = static_cast<uint32_t>(a) >> (16 * kIndex),
                   y = static_cast<uint32_t>(b) >> (16 * kIndex);
    const bool unordered = (magnitude(x) > Format::kInfinity) | (magnitude(y) > Format::kInfinity);
    return between<kCmp>(order(x), order(y), unordered);
  }

 private:
  // Masks instead of conditions, so that no branch is left.
  static int32_t magnitude(uint32_t bits) {
    const int32_t m = static_cast<int32_t>(bits & 0x7fff);
    return kFtz ? m & -static_cast<int32_t>(m >= Format::kSmallestNormal) : m;
  }

  static int32_t order(uint32_t bits) {
    const int32_t negative = -static_cast<int32_t>(bits >> 15 & 1);
    return (magnitude(bits) ^ negative) - negative;
  }

  // Integers compare where NaN must not.
  template <Cmp kCmp>
  static bool between(int32_t x, int32_t y, bool unordered) {
    constexpr bool kTrueForNaN = kCmp >= Cmp::kEqu && kCmp != Cmp::kNum;
    return kTrueForNaN ? compare<kCmp>(x, y, unordered) | unordered
                       : compare<kCmp>(x, y, unordered) & !unordered;
  }
};

template <class Format, bool kFtz>
void add_half_rows(FormTable& t) {
  const std::string_view type = Format::kType;
  const std::string packed_type = std::string(type) + "x2";
  using Single = HalfSource<Format, kFtz, false>;
  using Pair = HalfSource<Format, kFtz, true>;
  add_setp<Single>(t, kFloatCmps, type);
  add_set<Single>(t, kFloatCmps, type, kSetInt16);
  add_set<Single>(t, kFloatCmps, type, kSetInt32);
  if constexpr (std::is_same_v<Format, Half>) add_set<Single>(t, kFloatCmps, type, kSetHalf);
  if constexpr (!kFtz) add_set<Single>(t, kFloatCmps, type, kSetBfloat);

  add_setp<Pair>(t, kFloatCmps, packed_type);
  add_set<Pair>(t, kFloatCmps, packed_type, kSetPackedInt16);
  if constexpr (std::is_same_v<Format, Half>) {
    add_set<Pair>(t, kFloatCmps, packed_type, kSetPackedHalf);
  } else {
    add_set<Pair>(t, kFloatCmps, packed_type, kSetPackedBfloat);
  }
}

}  // namespace

void add_half_comparisons(FormTable& t) {
  add_half_rows<Half, false>(t);
  add_half_rows<Half, true>(t);
  add_half_rows<Bfloat, false>(t);
}

}  // namespace vgpu::ops
