// Counting and finding bits. Results are 32 bits wide whatever the operand; -1 stands for "none".
#include <bit>

#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

constexpr uint32_t kNone = ~0u;

template <class T>
struct PopulationCount {
  uint32_t operator()(T a) const { return static_cast<uint32_t>(std::popcount(a)); }
};

template <class T>
struct LeadingZeros {
  uint32_t operator()(T a) const { return static_cast<uint32_t>(std::countl_zero(a)); }
};

template <class T>
struct Reverse {
  T operator()(T a) const {
    constexpr T kOnes = ~T{0};
    T x = ((a >> 1) & (kOnes / 3)) | ((a & (kOnes / 3)) << 1);
    x = ((x >> 2) & (kOnes / 5)) | ((x & (kOnes / 5)) << 2);
    x = ((x >> 4) & (kOnes / 17)) | ((x & (kOnes / 17)) << 4);
    return sizeof(T) == 8 ? __builtin_bswap64(x) : __builtin_bswap32(static_cast<uint32_t>(x));
  }
};

// The highest bit that differs from the sign: for unsigned types the highest set bit.
template <class T, bool kShiftAmount>
struct FindHighest {
  uint32_t operator()(T a) const {
    const Unsigned<T> bits = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
    const uint32_t zeros = static_cast<uint32_t>(std::countl_zero(bits));
    const uint32_t found = kShiftAmount ? zeros : 8 * sizeof(T) - 1 - zeros;
    return bits == 0 ? kNone : found;
  }
};

// The offset-th set bit from `base`, upwards for a positive offset, downwards for a negative one; offset 0
// asks for the bit at `base` itself.
struct FindNthSet {
  uint32_t operator()(uint32_t mask, uint32_t base, int32_t offset) const {
    const int64_t step = offset < 0 ? -1 : 1;
    int64_t wanted = offset < 0 ? -int64_t{offset} : offset;
    if (offset == 0) return base < 32 && (mask >> base & 1) ? base : kNone;
    for (int64_t position = static_cast<int32_t>(base); position >= 0 && position < 32; position += step) {
      if ((mask >> position & 1) && --wanted == 0) return static_cast<uint32_t>(position);
    }
    return kNone;
  }
};

}  // namespace

void add_bit_counts(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  using U = uint32_t;
  for_types<uint32_t, uint64_t>([&]<class T>() {
    t.map<PopulationCount<T>, U, T>(untyped<T>("popc"));
    t.map<LeadingZeros<T>, U, T>(untyped<T>("clz"));
    t.map<Reverse<T>, T, T>(untyped<T>("brev"));
  });
  for_types<uint32_t, int32_t, uint64_t, int64_t>([&]<class T>() {
    t.map<FindHighest<T, false>, U, T>(typed<T>("bfind"));
    t.map<FindHighest<T, true>, U, T>(typed<T>("bfind.shiftamt"));
  });
  t.map<FindNthSet, U, U, U, int32_t>("fns.b32");
}

}  // namespace vgpu::ops
