// div and rem. PTX leaves division by zero open; the hardware's code answers all ones, for quotient and
// remainder alike. The most negative value divided by -1 wraps.
//
// 16- and 32-bit division goes through floating point, which has vector instructions where integer division
// has none. It is exact: a quotient n + r/b of integers below 2^k differs from the next integer by at least
// 1/b, relative to the quotient at least 1/a > 2^-k, and 2^-k is far above the rounding error of a type with
// more than k bits.
#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

inline int16_t quotient(int16_t a, int16_t b) {
  return static_cast<int16_t>(static_cast<int32_t>(static_cast<float>(a) / static_cast<float>(b)));
}

inline uint16_t quotient(uint16_t a, uint16_t b) {
  return static_cast<uint16_t>(static_cast<int32_t>(static_cast<float>(a) / static_cast<float>(b)));
}

inline int32_t quotient(int32_t a, int32_t b) {
  const double q = static_cast<double>(a) / static_cast<double>(b);
  return static_cast<int32_t>(q == 0x1p31 ? -0x1p31 : q);
}

// Vector units convert signed integers only.
inline double to_double(uint32_t x) {
  return static_cast<double>(static_cast<int32_t>(x ^ 0x80000000u)) + 0x1p31;
}

// A quotient above 2^31 does not fit the signed conversion back, so half of it is converted and the last bit
// found by subtraction; the rest is below 2 b, and fits: b > 2^31 makes the half zero and the rest a.
inline uint32_t quotient(uint32_t a, uint32_t b) {
  const uint32_t half = static_cast<uint32_t>(static_cast<int32_t>(to_double(a) / to_double(b) * 0.5));
  const uint32_t rest = a - 2 * half * b;
  return 2 * half + (rest >= b);
}

inline uint64_t quotient(uint64_t a, uint64_t b) {
  return a / b;
}

inline int64_t quotient(int64_t a, int64_t b) {
  const uint64_t negated = uint64_t{0} - static_cast<uint64_t>(a);
  return b == -1 ? static_cast<int64_t>(negated) : a / b;
}

// Masks rather than conditional expressions: the compiler would turn those into a branch around the division.
template <class T>
struct Divide {
  T operator()(T a, T b) const {
    const T by_zero = static_cast<T>(b == 0);
    return static_cast<T>(quotient(a, static_cast<T>(b + by_zero)) | -by_zero);
  }
};

template <class T>
struct Remainder {
  T operator()(T a, T b) const {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    const T by_zero = static_cast<T>(b == 0);
    const U q = static_cast<U>(quotient(a, static_cast<T>(b + by_zero)));
    return static_cast<T>(static_cast<T>(static_cast<U>(a) - q * static_cast<U>(b)) | -by_zero);
  }
};

}  // namespace

void add_integer_division(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  for_integers([&]<class T>() {
    t.map<Divide<T>, T, T, T>(typed<T>("div"));
    t.map<Remainder<T>, T, T, T>(typed<T>("rem"));
  });
}

}  // namespace vgpu::ops
