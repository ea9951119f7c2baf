"""Floating-point arithmetic of all formats: exact, then rounded once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.virtual_gpu.ops import floats
from tests.virtual_gpu.ops.floats import FORMATS, NAN, ONE, Format, Number
from tests.virtual_gpu.ops.model import Model, packed

_OPERATIONS: dict[str, tuple[int, Callable[..., Number]]] = {
    "add": (2, floats.add),
    "sub": (2, lambda a, b, rounding: floats.add(a, b.negated(), rounding)),
    "mul": (2, lambda a, b, _: floats.multiply(a, b)),
    "fma": (3, lambda a, b, c, rounding: floats.add(floats.multiply(a, b), c, rounding)),
    "div": (2, lambda a, b, _: floats.divide(a, b)),
    "rcp": (1, lambda a, _: floats.divide(ONE, a)),
    "sqrt": (1, lambda a, _: floats.square_root(a)),
}
_OPERATIONS["mad"] = _OPERATIONS["fma"]


def float_model(name: str) -> Model:
    op, *modifiers, kind = name.split(".")
    format = FORMATS[kind.removesuffix("x2")]
    if op == "testp":
        return Model((kind,), lambda a: int(_has_property(modifiers[0], format, a)))
    if op == "copysign":
        sign = format.sign_bit
        return Model((kind, kind), lambda a, b: a & sign | b & (sign - 1))
    count, one = _element_operation(op, modifiers, format)
    return Model((kind,) * count, packed(one) if kind.endswith("x2") else one)


def _element_operation(op: str, modifiers: list[str], format: Format) -> tuple[int, Callable[..., int]]:
    """How many operands it has, and what it does to their bits."""
    if op in ("neg", "abs"):
        return 1, _sign_operation(op, modifiers, format)
    if op in ("min", "max"):
        return 2, _extremum(op, modifiers, format)
    return _arithmetic(op, modifiers, format)


def _arithmetic(op: str, modifiers: list[str], format: Format) -> tuple[int, Callable[..., int]]:
    count, exact = _OPERATIONS[op]
    rounding = next((m for m in modifiers if m in floats.ROUNDINGS), "rn")

    def compute(*sources: int) -> int:
        value = exact(*_operands(sources, modifiers, format), rounding)
        if "sat" in modifiers:
            value = floats.saturate(value)
        if "relu" in modifiers:
            value = floats.relu(value)
        bits = format.encode(value, rounding)
        return format.encode(format.flush(format.decode(bits))) if "ftz" in modifiers else bits

    return count, compute


def _operands(sources: tuple[int, ...], modifiers: list[str], format: Format) -> list[Number]:
    numbers = [format.decode(bits) for bits in sources]
    return [format.flush(x) for x in numbers] if "ftz" in modifiers else numbers


def _sign_operation(op: str, modifiers: list[str], format: Format) -> Callable[[int], int]:
    def compute(bits: int) -> int:
        if "ftz" in modifiers and not format.is_nan_bits(bits):
            bits = format.encode(format.flush(format.decode(bits)))
        return bits ^ format.sign_bit if op == "neg" else bits & (format.sign_bit - 1)

    return compute


def _extremum(op: str, modifiers: list[str], format: Format) -> Callable[..., int]:
    def compute(*sources: int) -> int:
        a, b = _operands(sources, modifiers, format)
        negative = bool((sources[0] ^ sources[1]) & format.sign_bit)  # a NaN's sign counts too
        if "xorsign" in modifiers:
            a, b = a.magnitude(), b.magnitude()
        chosen = _choose(op, a, b, "NaN" in modifiers)
        if "xorsign" in modifiers and not chosen.is_nan:
            chosen = chosen.with_sign(negative)
        return format.encode(chosen)

    return compute


def _choose(op: str, a: Number, b: Number, propagates_nan: bool) -> Number:
    if (a.is_nan and b.is_nan) or (propagates_nan and (a.is_nan or b.is_nan)):
        return NAN
    if a.is_nan or b.is_nan:
        return b if a.is_nan else a
    order = floats.compare(a, b) or (b.negative - a.negative)  # -0 is below +0
    smaller, larger = (a, b) if order <= 0 else (b, a)
    return smaller if op == "min" else larger


def _has_property(name: str, format: Format, bits: int) -> bool:
    x = format.decode(bits)
    smallest = Fraction(2) ** (1 - format.bias)
    return {
        "finite": x.is_finite,
        "infinite": x.is_infinite,
        "number": not x.is_nan,
        "notanumber": x.is_nan,
        "normal": x.size is not None and x.size >= smallest,
        "subnormal": x.size is not None and 0 < x.size < smallest,
    }[name]
