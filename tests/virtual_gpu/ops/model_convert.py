"""cvt: integers and floating-point formats, rounded exactly, in registers of any width."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.virtual_gpu.ops import floats
from tests.virtual_gpu.ops.floats import BF16, E4M3, E5M2, F16, F32, F64, FORMATS, Format, Number, number
from tests.virtual_gpu.ops.grammar import INTEGRAL_ROUNDINGS, ROUNDINGS
from tests.virtual_gpu.ops.model import Model, clamped, halves, read, signed, wrapped
from tests.virtual_gpu.ops.vectors import width_of

_TF32 = Format("tf32", 19, 10, 0)  # in the upper 19 bits of a register
_PACKED = {"f16x2": F16, "bf16x2": BF16, "e4m3x2": E4M3, "e5m2x2": E5M2}


def convert_model(name: str, signature: str) -> Model:
    plain = name.partition("#")[0]
    _, *modifiers, to, source = plain.split(".")
    if "pack" in modifiers:
        return _pack_integers(plain)
    if to == "tf32":
        return Model(("f32",), lambda a: _to_tf32(a, modifiers))
    if to in _PACKED:
        return _pack_floats(modifiers, to, source)
    one = _conversion(modifiers, to, source)
    registers = [int(width) for width in signature.split()]

    def compute(bits: int) -> int:
        result = one(wrapped(bits, width_of(source)))
        return wrapped(read(result, to), registers[0]) if to.startswith("s") else result

    # What a wide register holds above the type must not matter.
    kind = source if registers[1] == width_of(source) else f"b{registers[1]}"
    return Model((kind,), compute)


def _conversion(modifiers: list[str], to: str, source: str) -> Callable[[int], int]:
    if source not in FORMATS:
        return _from_integer(modifiers, to, source)
    return _to_integer(modifiers, to, source) if to not in FORMATS else _between_floats(modifiers, to, source)


def _rounding(modifiers: list[str]) -> str:
    found = [m for m in modifiers if f".{m}" in (*ROUNDINGS, *INTEGRAL_ROUNDINGS)]
    return found[0][:2] if found else "rn"


def _from_integer(modifiers: list[str], to: str, source: str) -> Callable[[int], int]:
    def compute(bits: int) -> int:
        value = read(bits, source)
        if to not in FORMATS:
            return wrapped(clamped(value, to) if "sat" in modifiers else value, width_of(to))
        exact = floats.saturate(number(value)) if "sat" in modifiers else number(value)
        return FORMATS[to].encode(exact, _rounding(modifiers))

    return compute


def _integral(x: Number, rounding: str) -> Number:
    if x.size is None:
        return x
    return Number(x.negative, Fraction(floats.rounded_up(x.size, x.negative, rounding)))


def _to_integer(modifiers: list[str], to: str, source: str) -> Callable[[int], int]:
    width = width_of(to)

    def compute(bits: int) -> int:
        x = FORMATS[source].decode(bits)
        if x.is_nan:
            return 1 << (width - 1) if width == 64 or source == "f64" else 0
        if "ftz" in modifiers:
            x = FORMATS[source].flush(x)
        x = _integral(x, _rounding(modifiers))
        beyond = 1 << 70
        value = int(x.value) if x.is_finite else (-beyond if x.negative else beyond)
        return wrapped(clamped(value, to), width)

    return compute


def _between_floats(modifiers: list[str], to: str, source: str) -> Callable[[int], int]:
    target, origin = FORMATS[to], FORMATS[source]
    keeps_bits = to == source and not modifiers

    def compute(bits: int) -> int:
        if keeps_bits:
            return bits
        if origin.is_nan_bits(bits) and "sat" not in modifiers:
            return _converted_nan(bits, origin, target)
        x = origin.decode(bits)
        if "ftz" in modifiers and origin is F32:
            x = F32.flush(x)
        if to == source and any(m.endswith("i") for m in modifiers):
            x = _integral(x, _rounding(modifiers))
        if "sat" in modifiers:
            x = floats.saturate(x)
        if "relu" in modifiers:
            x = floats.relu(x)
        result = _finite(target.encode(x, _rounding(modifiers)), target, modifiers)
        if "ftz" in modifiers and target is F32:
            return F32.encode(F32.flush(F32.decode(result)))
        return result

    return compute


def _converted_nan(bits: int, origin: Format, target: Format) -> int:
    if origin is BF16 and target is F32:
        return bits << 16  # the hardware shifts
    if target is F64 and origin is not F64:
        # Quiet, and with the payload the source had.
        fraction = (bits & ((1 << origin.mantissa) - 1)) << (52 - origin.mantissa)
        sign = F64.sign_bit if bits & origin.sign_bit else 0
        return sign | F64.infinity | 1 << 51 | fraction
    return target.nan


def _finite(bits: int, format: Format, modifiers: list[str]) -> int:
    """.satfinite puts the largest value in the place of infinity."""
    magnitude = bits & (format.sign_bit - 1)
    if "satfinite" in modifiers and magnitude == format.infinity and not format.finite_only:
        return bits & format.sign_bit | format.largest
    return bits


def _to_tf32(bits: int, modifiers: list[str]) -> int:
    x = F32.decode(bits)
    if x.is_nan:
        return F32.nan
    if "relu" in modifiers:
        x = floats.relu(x)
    return _finite(_TF32.encode(x, modifiers[0]), _TF32, modifiers) << 13


def _pack_floats(modifiers: list[str], to: str, source: str) -> Model:
    target, width = _PACKED[to], _PACKED[to].width

    def one(bits: int, origin: Format) -> int:
        x = origin.decode(bits)
        if "relu" in modifiers:
            x = floats.relu(x)
        return _finite(target.encode(x, _rounding(modifiers)), target, modifiers)

    if source == "f32":  # the first operand goes to the upper part
        return Model(("f32", "f32"), lambda a, b: one(a, F32) << width | one(b, F32))
    origin = _PACKED[source]

    def both(bits: int) -> int:
        low, high = halves(bits, origin.width)
        return one(high, origin) << width | one(low, origin)

    return Model((source,), both)


def _pack_integers(name: str) -> Model:
    to = name.split(".")[3]
    width = int(to[1:])

    def one(bits: int) -> int:
        return wrapped(clamped(signed(bits, 32), to), width)

    def compute(a: int, b: int, c: int = 0) -> int:
        return wrapped(c << (2 * width) | one(a) << width | one(b), 32)

    return Model(("s32", "s32") if width == 16 else ("s32", "s32", "b32"), compute)
