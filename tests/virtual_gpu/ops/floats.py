"""Floating-point formats in exact rational arithmetic: the reference that the engine is compared with.

A value is a Number: NaN, an infinity, or a sign and a non-negative fraction. Nothing here uses the machine's
floating point.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import isqrt

ROUNDINGS = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Number:
    negative: bool
    size: Fraction | None = None  # of a finite value
    is_nan: bool = False

    @property
    def is_finite(self) -> bool:
        return self.size is not None

    @property
    def is_infinite(self) -> bool:
        return self.size is None and not self.is_nan

    @property
    def is_zero(self) -> bool:
        return self.size == 0

    @property
    def value(self) -> Fraction:
        assert self.size is not None
        return -self.size if self.negative else self.size

    def negated(self) -> Number:
        return Number(not self.negative, self.size, self.is_nan)

    def magnitude(self) -> Number:
        return Number(False, self.size, self.is_nan)

    def with_sign(self, negative: bool) -> Number:
        return Number(negative, self.size, self.is_nan)


NAN = Number(False, None, True)
ZERO = Number(False, Fraction(0))
ONE = Number(False, Fraction(1))
INFINITY = Number(False)


def number(value: Fraction | int, *, negative_zero: bool = False) -> Number:
    size = Fraction(value)
    return Number(size < 0 or (size == 0 and negative_zero), abs(size))


@cache
def two_to(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


@dataclass(frozen=True, eq=False)  # there is one of each: compared, and hashed quickly, by identity
class Format:
    """`mantissa` counts the stored bits; `nan` is the pattern that operations give."""

    name: str
    width: int
    mantissa: int
    nan: int
    finite_only: bool = False  # e4m3: the top exponent holds values too, and there is no infinity

    @property
    def bias(self) -> int:
        return (1 << (self.width - self.mantissa - 2)) - 1

    @property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        return (self.sign_bit - 1) >> self.mantissa << self.mantissa

    @property
    def largest(self) -> int:
        """The bits of the largest finite value."""
        return self.sign_bit - 2 if self.finite_only else self.infinity - 1

    @property
    def smallest_exponent(self) -> int:
        return 1 - self.bias - self.mantissa  # of the last bit of a subnormal

    def is_nan_bits(self, bits: int) -> bool:
        magnitude = bits & (self.sign_bit - 1)
        return magnitude == self.sign_bit - 1 if self.finite_only else magnitude > self.infinity

    @lru_cache(maxsize=1 << 18)  # noqa: B019 (formats are constants; many forms read the same operands)
    def decode(self, bits: int) -> Number:
        negative = bool(bits & self.sign_bit)
        magnitude = bits & (self.sign_bit - 1)
        if self.is_nan_bits(bits):
            return NAN
        if magnitude == self.infinity and not self.finite_only:
            return Number(negative)
        exponent, fraction = magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1)
        units = fraction | (1 << self.mantissa) if exponent else fraction
        last = self.smallest_exponent + max(exponent, 1) - 1
        return Number(negative, Fraction(units << last) if last >= 0 else Fraction(units, 1 << -last))

    def encode(self, x: Number, rounding: str = "rn") -> int:
        if x.is_nan:
            return self.nan
        sign = self.sign_bit if x.negative else 0
        if x.size is None:
            return sign | (self.largest if self.finite_only else self.infinity)
        return sign | self._encode_size(x.size, x.negative, rounding)

    def _encode_size(self, size: Fraction, negative: bool, rounding: str) -> int:
        if size == 0:
            return 0
        # The exponent of the last kept bit: that of the value's leading bit less the mantissa, or the least.
        leading = size.numerator.bit_length() - size.denominator.bit_length()
        if size < two_to(leading):
            leading -= 1
        last = max(leading - self.mantissa, self.smallest_exponent)
        units = size / two_to(last)
        count = rounded_up(units, negative, rounding)
        # A carry out of the mantissa moves on to the next exponent by itself.
        bits = ((last - self.smallest_exponent) << self.mantissa) + count
        if bits <= self.largest:
            return bits
        away = rounding in ("rn", "rna") or rounding == ("rm" if negative else "rp")
        return self.infinity if away and not self.finite_only else self.largest

    def power_of_two(self, exponent: int) -> int:
        """The bits of 2**exponent, or of the nearest value the format has."""
        return self.encode(Number(False, two_to(exponent)), "rz")

    def flush(self, x: Number) -> Number:
        """Subnormal values become zero of the same sign."""
        if x.size is not None and x.size < two_to(1 - self.bias):
            return Number(x.negative, Fraction(0))
        return x


def rounded_up(units: Fraction, negative: bool, rounding: str) -> int:
    """The integer that a non-negative magnitude `units` of a number with the given sign is rounded to."""
    whole, rest = divmod(units.numerator, units.denominator)
    if rest == 0 or rounding == "rz":
        return whole
    if rounding in ("rm", "rp"):
        return whole + (negative == (rounding == "rm"))
    twice = 2 * rest
    if twice == units.denominator:
        return whole + (1 if rounding == "rna" else whole & 1)
    return whole + (twice > units.denominator)


F16 = Format("f16", 16, 10, 0x7FFF)
BF16 = Format("bf16", 16, 7, 0x7FFF)
F32 = Format("f32", 32, 23, 0x7FFFFFFF)
F64 = Format("f64", 64, 52, 0xFFF8000000000000)
E4M3 = Format("e4m3", 8, 3, 0x7F, finite_only=True)
E5M2 = Format("e5m2", 8, 2, 0x7F)
FORMATS = {format.name: format for format in (F16, BF16, F32, F64, E4M3, E5M2)}


def add(a: Number, b: Number, rounding: str = "rn") -> Number:
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_infinite and a.negative != b.negative):
        return NAN
    if a.is_infinite or b.is_infinite:
        return a if a.is_infinite else b
    total = a.value + b.value
    if total == 0:
        return number(0, negative_zero=a.negative if a.negative == b.negative else rounding == "rm")
    return number(total)


def multiply(a: Number, b: Number) -> Number:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_zero) or (a.is_zero and b.is_infinite):
        return NAN
    if a.size is None or b.size is None:
        return Number(negative)
    return Number(negative, a.size * b.size)


def divide(a: Number, b: Number) -> Number:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_infinite) or (a.is_zero and b.is_zero):
        return NAN
    if a.size is None or b.is_zero:
        return Number(negative)
    return Number(negative, a.size / b.size if b.size is not None else Fraction(0))


def square_root(a: Number) -> Number:
    """Exact to over 100 bits, with a last bit that says whether there is more: enough to round from."""
    if a.is_nan or (a.negative and not a.is_zero):
        return NAN
    if a.is_infinite or a.size is None or a.is_zero:
        return a
    shift = 2 * max(0, 120 - (a.size.numerator.bit_length() - a.size.denominator.bit_length()) // 2)
    scaled, rest = divmod(a.size.numerator << shift, a.size.denominator)
    root = isqrt(scaled)
    inexact = rest != 0 or root * root != scaled
    return Number(False, Fraction(2 * root + inexact, 2 << (shift // 2)))


def saturate(x: Number) -> Number:
    """[0, 1]; NaN and negative zero become +0."""
    if x.is_nan or x.negative:
        return ZERO
    return x if x.size is not None and x.size < 1 else ONE


def relu(x: Number) -> Number:
    return ZERO if x.negative and not x.is_nan else x


def compare(a: Number, b: Number) -> int | None:
    """-1, 0 or 1; None when unordered. The zeros are equal."""
    if a.is_nan or b.is_nan:
        return None
    x, y = _order(a), _order(b)
    return (x > y) - (x < y)


def _order(x: Number) -> tuple[int, Fraction]:
    if x.size is None:
        return (-1 if x.negative else 1, Fraction(0))
    return (0, x.value)
