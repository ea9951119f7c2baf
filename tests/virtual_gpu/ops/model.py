"""What each form computes on one lane, in Python integers and fractions: an independent reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Bits = tuple[int, ...]


@dataclass(frozen=True)
class Model:
    """One form. `kinds` are the types of its sources, in the order of its slots; values are bit patterns."""

    kinds: tuple[str, ...]
    compute: Callable[..., Bits | int]
    # For results that are not unique: whether the engine's are good ones for the sources.
    accepts: Callable[[Bits, Bits], bool] | None = None
    immediates: tuple[int, ...] = field(default=(0,))

    def results(self, sources: Bits, immediate: int) -> Bits:
        extra = (immediate,) if self.immediates != (0,) else ()
        computed = self.compute(*sources, *extra)
        return computed if isinstance(computed, tuple) else (computed,)


def signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) & 1 else bits


def wrapped(value: int, width: int) -> int:
    return value & ((1 << width) - 1)


def read(bits: int, kind: str) -> int:
    """An integer type's value from its bits."""
    return signed(bits, int(kind[1:])) if kind.startswith("s") else bits


def limits(kind: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    width = int(kind[1:])
    return (-(1 << (width - 1)), (1 << (width - 1)) - 1) if kind.startswith("s") else (0, (1 << width) - 1)


def clamped(value: int, kind: str) -> int:
    low, high = limits(kind)
    return min(max(value, low), high)


def halves(bits: int, width: int = 16) -> tuple[int, int]:
    """The low and the high part of a packed pair."""
    return wrapped(bits, width), wrapped(bits >> width, width)


def packed(compute: Callable[..., int], width: int = 16) -> Callable[..., int]:
    """A function of single elements applied to both parts of packed operands."""

    def both(*sources: int) -> int:
        parts = zip(*(halves(source, width) for source in sources), strict=True)
        low, high = (compute(*part) for part in parts)
        return low | high << width

    return both
