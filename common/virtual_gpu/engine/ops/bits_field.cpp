// Bit fields: extract, insert, extend, make a mask. Positions and lengths may reach past the register.
#include "ops/bit_tools.h"
#include "ops/builders.h"
#include "ops/types.h"

namespace vgpu::ops {
namespace {

// PTX gives a meaning to positions and lengths up to 255. What hardware makes of more depends on the width:
// of 32 bits it looks at the lowest byte of each, and of 64 bits at all of it. For a signed type the bits
// above the field repeat its highest bit, which is the register's highest bit when the field reaches past it.
template <class T>
struct FieldExtract {
  T operator()(T a, uint32_t position, uint32_t length) const {
    using U = Unsigned<T>;
    const U bits = static_cast<U>(a);
    constexpr uint32_t kLooksAt = sizeof(T) == 4 ? 0xff : 0xffffffff;
    position = at_most(position & kLooksAt, kWidth<T>);
    length = at_most(length & kLooksAt, kWidth<T>);
    const U mask = low_bits<U>(length);
    U field = shift_right<U>(bits, position) & mask;
    if constexpr (std::is_signed_v<T>) {
      const uint32_t sign_position = at_most(position + length - 1, kWidth<T> - 1);
      const bool negative = length != 0 && (bits >> sign_position & 1) != 0;
      const U inside = mask & low_bits<U>(kWidth<T> - at_most(position, kWidth<T>));
      field |= negative ? static_cast<U>(~inside) : U{0};
    }
    return static_cast<T>(field);
  }
};

template <class T>
struct FieldInsert {
  T operator()(T a, T b, uint32_t position, uint32_t length) const {
    const T mask = shift_left<T>(low_bits<T>(length & 0xff), position & 0xff);
    return static_cast<T>((b & ~mask) | (shift_left<T>(a, position & 0xff) & mask));
  }
};

template <class T, class Mode>
struct Extend {
  T operator()(T a, uint32_t count) const {
    const uint32_t bits = Mode::limit(count);
    const uint32_t value = static_cast<uint32_t>(a) & low_bits<uint32_t>(bits);
    const uint32_t sign = std::is_signed_v<T> ? shift_right<uint32_t>(value, bits - 1) & 1 : 0;
    return static_cast<T>(value | (sign != 0 ? ~low_bits<uint32_t>(bits) : 0u));
  }
};

template <class Mode>
struct FieldMask {
  uint32_t operator()(uint32_t position, uint32_t length) const {
    return shift_left<uint32_t>(low_bits<uint32_t>(Mode::limit(length)), Mode::limit(position));
  }
};

}  // namespace

void add_bit_fields(FormTable& t) {
  t.count_as(InstrClass::kInteger);
  using U = uint32_t;
  using S = int32_t;
  for_types<uint32_t, int32_t, uint64_t, int64_t>(
      [&]<class T>() { t.map<FieldExtract<T>, T, T, U, U>(typed<T>("bfe")); });
  for_types<uint32_t, uint64_t>([&]<class T>() { t.map<FieldInsert<T>, T, T, T, U, U>(untyped<T>("bfi")); });
  t.map<Extend<U, Wrap>, U, U, U>("szext.wrap.u32");
  t.map<Extend<U, Clamp>, U, U, U>("szext.clamp.u32");
  t.map<Extend<S, Wrap>, S, S, U>("szext.wrap.s32");
  t.map<Extend<S, Clamp>, S, S, U>("szext.clamp.s32");
  t.map<FieldMask<Wrap>, U, U, U>("bmsk.wrap.b32");
  t.map<FieldMask<Clamp>, U, U, U>("bmsk.clamp.b32");
}

}  // namespace vgpu::ops
