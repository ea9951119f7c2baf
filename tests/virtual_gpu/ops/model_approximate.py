"""The approximate functions: not one right answer, but a bound on the error, and exact special values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tests.virtual_gpu.ops.floats import FORMATS, Format, Number
from tests.virtual_gpu.ops.model import Bits, Model, halves


@dataclass(frozen=True)
class Function:
    """A function in double precision, and the error its result may have: `ulps` of the result and, where
    that is more, `absolute`. Outside the domain nothing is asked for but the special values."""

    of: Callable[..., float]
    ulps: float = 2
    absolute: float = 0.0
    domain: Callable[..., bool] = lambda *_: True
    operands: int = 1


def _reciprocal_root(x: float) -> float:
    if x == 0:
        return math.copysign(math.inf, x)
    return math.nan if x < 0 else 1 / math.sqrt(x)


def _exp2(x: float) -> float:
    return math.inf if x >= 1024 else 0.0 if x < -1100 else 2.0**x


def _log2(x: float) -> float:
    if x == 0:
        return -math.inf
    return math.nan if x < 0 else math.log2(x)


def _divide(a: float, b: float) -> float:
    if b == 0:
        same = math.copysign(1, a) * math.copysign(1, b)
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, same)
    return a / b


def _quotient(a: float, b: float) -> float:
    """div.approx: a divisor above 2^126 counts as infinite, but for an infinite dividend."""
    if 2.0**126 < abs(b) < math.inf and not math.isnan(a):
        return math.nan if math.isinf(a) else math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b))
    return _divide(a, b)


def _circular(function: Callable[[float], float]) -> Function:
    """sin and cos promise their error within one period."""
    return Function(
        lambda x: math.nan if math.isinf(x) else function(x),
        absolute=2.0**-20.9,
        domain=lambda x: not math.isfinite(x) or abs(x) <= math.pi,
    )


_FUNCTIONS = {
    "rcp": Function(lambda x: _divide(1.0, x), ulps=1),
    "sqrt": Function(lambda x: math.nan if x < 0 else math.sqrt(x), ulps=1),
    "rsqrt": Function(_reciprocal_root),
    "ex2": Function(_exp2),
    # Near 1 the result is small, and the bound absolute.
    "lg2": Function(_log2, ulps=1.5, absolute=2.0**-22.6),
    "sin": _circular(math.sin),
    "cos": _circular(math.cos),
    "tanh": Function(math.tanh),
    "div.approx": Function(_quotient, operands=2),
    "div.full": Function(_divide, operands=2),
}
# The coarse f64 forms keep 20 mantissa bits of operand and result.
_COARSE_ULPS = 2.0**34


def approximate_model(name: str) -> Model:
    op, *modifiers, kind = name.split(".")
    function = _FUNCTIONS[f"{op}.{modifiers[0]}" if op == "div" else op]
    element = kind.removesuffix("x2")
    format, ftz = FORMATS[element], "ftz" in modifiers
    ulps = _COARSE_ULPS if name.endswith("ftz.f64") else function.ulps

    def accepts_one(sources: Bits, got: int) -> bool:
        values = [_as_double(format, bits, ftz) for bits in sources]
        if not function.domain(*values):
            return not format.is_nan_bits(got)
        exact = math.nan if any(map(math.isnan, values)) else function.of(*values)
        return _is_near(format, got, exact, ulps, function.absolute, ftz)

    def accepts(sources: Bits, results: Bits) -> bool:
        if not kind.endswith("x2"):
            return accepts_one(sources, results[0])
        elements = zip(*(halves(bits) for bits in (*sources, results[0])), strict=True)
        return all(accepts_one(part[:-1], part[-1]) for part in elements)

    return Model((kind,) * function.operands, lambda *_: 0, accepts)


def _as_double(format: Format, bits: int, ftz: bool) -> float:
    x = format.decode(bits)
    if x.size is None:
        return math.nan if x.is_nan else math.copysign(math.inf, -1 if x.negative else 1)
    size = float((format.flush(x) if ftz else x).size or 0)
    return -size if x.negative else size


def _is_near(format: Format, got: int, exact: float, ulps: float, absolute: float, ftz: bool) -> bool:
    if math.isnan(exact):
        return got == format.nan
    wanted = _number(exact)
    nearest = format.encode(wanted)
    if ftz:
        nearest = format.encode(format.flush(format.decode(nearest)))
    if got == nearest:
        return True
    result = format.decode(got)
    if result.is_nan or wanted.size is None or wanted.is_zero:
        return False
    largest = format.decode(format.largest).size
    assert largest is not None
    if result.size is None:  # infinity for a value at the very end
        return wanted.size >= largest and result.negative == wanted.negative
    if ftz and result.is_zero:
        return wanted.size <= Fraction(2) ** (1 - format.bias) * (1 + Fraction(1, 1 << 20))
    exponent = max(math.frexp(exact)[1] - 1, 1 - format.bias)
    unit = Fraction(2) ** (exponent - format.mantissa)
    return abs(result.value - wanted.value) <= max(Fraction(ulps) * unit, Fraction(absolute))


def _number(x: float) -> Number:
    return Number(math.copysign(1, x) < 0, None if math.isinf(x) else Fraction(abs(x)))
