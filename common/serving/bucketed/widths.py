"""The widths that a token can have, in bits."""

from __future__ import annotations

from collections.abc import Sequence

from common.serving.arguments import ArgumentError
from common.serving.bucketed.checks import UNUSABLE, described, whole

WIDTHS = (2, 3, 4, 8)


def require_width(name: str, bits: object, widths: Sequence[int] = WIDTHS) -> int:
    found = whole(name, bits, None)
    if found not in widths:
        raise ArgumentError(f"{name} is {found}, but must be one of {', '.join(map(str, widths))} bits")
    return found


def require_widths(name: str, given: object) -> tuple[int, ...]:
    """Some widths, at least one, each once."""
    try:
        listed: tuple[object, ...] = tuple(given)  # type: ignore[arg-type]  # whether it can is the question
    except UNUSABLE:
        raise ArgumentError(
            f"{name} is {described(given)}, but must be a sequence of widths, such as {WIDTHS}"
        ) from None
    found = tuple(require_width("a width", bits) for bits in listed)
    if not found or len(set(found)) != len(found):
        raise ArgumentError(f"{name} is {found}, but must name at least one width, and each once")
    return found
