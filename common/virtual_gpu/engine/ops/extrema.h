// min and max of floating-point values. -0 is smaller than +0; of a number and a NaN the number wins unless
// the form says .NaN; with .xorsign.abs magnitudes are compared and the result takes the product's sign.
//
// Values are compared as integers that have the same order: for negative ones all bits but the sign are
// inverted. A NaN becomes an end of that order, the one that loses, or wins with .NaN.
#pragma once

#include <limits>
#include <type_traits>

#include "ops/float_tools.h"

namespace vgpu::ops {

template <bool kMax, bool kPropagateNaN, bool kXorSign>
struct Extremum {
  template <class T>
  T operator()(T a, T b) const {
    return std::bit_cast<T>(of_bits<FloatLayout<T>, Bits<T>>(bits_of(a), bits_of(b)));
  }

  // Layout names the patterns of a format whose values are B wide.
  template <class Layout, class B>
  static B of_bits(B a, B b) {
    const std::make_signed_t<B> x = rank<Layout>(a), y = rank<Layout>(b);
    const B picked = reordered<B>(static_cast<B>(kMax ? (x > y ? x : y) : (x < y ? x : y)));
    const B sign = kXorSign ? (a ^ b) & Layout::kSign : 0;
    const bool number = magnitude<Layout>(picked) <= Layout::kInfinity;
    return static_cast<B>(number ? picked | sign : Layout::kNaN);
  }

 private:
  template <class Layout, class B>
  static B magnitude(B bits) {
    return static_cast<B>(bits & static_cast<B>(~Layout::kSign));
  }

  // From a value's bits to its rank in the order, and back.
  template <class B>
  static B reordered(B bits) {
    using S = std::make_signed_t<B>;
    const S s = static_cast<S>(bits);
    return static_cast<B>(s ^ ((s >> (8 * sizeof(S) - 1)) & std::numeric_limits<S>::max()));
  }

  template <class Layout, class B>
  static auto rank(B bits) {
    using S = std::make_signed_t<B>;
    constexpr S kNaNRank =
        kMax == kPropagateNaN ? std::numeric_limits<S>::max() : std::numeric_limits<S>::min();
    const S m = static_cast<S>(magnitude<Layout>(bits));
    const S order = kXorSign ? m : static_cast<S>(reordered<B>(bits));
    return m > static_cast<S>(Layout::kInfinity) ? kNaNRank : order;
  }
};

}  // namespace vgpu::ops
