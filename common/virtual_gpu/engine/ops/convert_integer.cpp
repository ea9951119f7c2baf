// cvt between integer types: cut or extended; with .sat clamped to the destination's range.
#include <limits>

#include "ops/builders.h"
#include "ops/convert_rows.h"

namespace vgpu::ops {
namespace {

template <class To, class From>
struct Resize {
  using D = To;
  using S = From;
  static Stored<D> convert(Stored<S> bits) { return static_cast<Stored<D>>(static_cast<S>(bits)); }
};

template <class D, class S>
constexpr bool kContains = std::is_signed_v<S>
                               ? std::is_signed_v<D> && sizeof(D) >= sizeof(S)
                               : sizeof(D) > sizeof(S) || (std::is_unsigned_v<D> && sizeof(D) == sizeof(S));

template <class To, class From>
struct Clamp {
  using D = To;
  using S = From;
  static Stored<D> convert(Stored<S> bits) {
    const S value = static_cast<S>(bits);
    // The limits of D, as far as S can reach them.
    constexpr bool kReachesLow = std::is_signed_v<S> && (std::is_unsigned_v<D> || sizeof(D) < sizeof(S));
    constexpr bool kReachesHigh =
        sizeof(D) < sizeof(S) || (sizeof(D) == sizeof(S) && std::is_signed_v<D> && std::is_unsigned_v<S>);
    S limited = value;
    if constexpr (kReachesLow) {
      constexpr S kLow = static_cast<S>(std::numeric_limits<D>::min());
      limited = limited < kLow ? kLow : limited;
    }
    if constexpr (kReachesHigh) {
      constexpr S kHigh = static_cast<S>(std::numeric_limits<D>::max());
      limited = limited > kHigh ? kHigh : limited;
    }
    return static_cast<Stored<D>>(limited);
  }
};

template <class F>
void for_all_integers(F f) {
  for_types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>(f);
}

}  // namespace

void add_integer_conversions(FormTable& t) {
  for_all_integers([&]<class D>() {
    for_all_integers([&]<class S>() {
      add_conversion<Resize<D, S>>(t, {});
      if constexpr (!kContains<D, S>) add_conversion<Clamp<D, S>>(t, {".sat"});
    });
  });
}

}  // namespace vgpu::ops
