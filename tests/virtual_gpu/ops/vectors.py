"""Operand values: the edges of every type and random ones, of all magnitudes."""

from __future__ import annotations

import random
from functools import cache

from tests.virtual_gpu.ops.floats import FORMATS, Format


def width_of(kind: str) -> int:
    """Bits of a value: u32 -> 32, bf16x2 -> 32, pred -> 1, e4m3x2 -> 16."""
    if kind == "pred":
        return 1
    if kind.endswith("x2"):
        return 2 * width_of(kind[:-2])
    return FORMATS[kind].width if kind in FORMATS else int(kind.lstrip("usbc"))


@cache
def edges(kind: str) -> tuple[int, ...]:
    """Bit patterns at the edges of a type: limits, zeros, infinities, NaNs, neighbours of powers of two."""
    if kind.endswith("x2"):
        halves = edges(kind[:-2])
        width = width_of(kind[:-2])
        return tuple(a << width | b for a, b in zip(halves, reversed(halves), strict=True))
    if kind in FORMATS:
        return _float_edges(FORMATS[kind])
    width = width_of(kind)
    top = 1 << width
    near = {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 1000}
    near |= {1 << k for k in range(width)} | {(1 << k) - 1 for k in range(1, width + 1)}
    return tuple(sorted(x % top for x in near | {-x for x in near}))


# Where the mantissas and the ranges of integers and of the shorter formats end.
_POWERS: tuple[int, ...] = (4, 7, 8, 10, 11, 15, 16, 23, 24, 31, 32, 52, 53, 62, 63, 64, 126, 127)
_POWERS += (-2, -9, -10, -14, -24, -25, -126, -127, -133, -149)


def _float_edges(format: Format) -> tuple[int, ...]:
    sign = format.sign_bit
    one = format.power_of_two(0)
    step = 1 << format.mantissa
    positive = {
        *(0, 1, 2, 3, step - 1, step, step + 1, step // 2),  # zero, subnormals, the smallest normal values
        *(one - 1, one, one + 1, one + step // 2, one + step, one - step, one - 2 * step, one + 2 * step),
        *(format.largest - 1, format.largest, format.infinity, format.infinity + 1, sign - 1),
        format.infinity | step // 2,
        *(format.power_of_two(k) for k in _POWERS),
    }
    inside = {bits for bits in positive if 0 <= bits < sign}
    return tuple(sorted(inside | {bits | sign for bits in inside}))


def random_bits(kind: str, rng: random.Random) -> int:
    """Any pattern, but integers are as often short as long, and floats as often ordinary as extreme."""
    if kind.endswith("x2"):
        width = width_of(kind[:-2])
        return random_bits(kind[:-2], rng) << width | random_bits(kind[:-2], rng)
    width = width_of(kind)
    if kind in FORMATS:
        if rng.random() < 0.5:
            return rng.getrandbits(width)
        format = FORMATS[kind]
        exponent = min(max(format.bias + rng.randint(-8, 8), 0), (format.infinity >> format.mantissa) - 1)
        fraction = rng.getrandbits(format.mantissa)
        if rng.random() < 0.5:  # few significant bits: sums and products that are exact, ties
            cut = rng.randint(0, format.mantissa)
            fraction = fraction >> cut << cut
        return rng.getrandbits(1) << (width - 1) | exponent << format.mantissa | fraction
    value = rng.getrandbits(width) >> rng.randrange(width)
    return value if rng.random() < 0.5 else -value % (1 << width)


def draw(kind: str, rng: random.Random) -> int:
    return rng.choice(edges(kind)) if rng.random() < 0.4 else random_bits(kind, rng)
