"""setp and set of every type."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tests.virtual_gpu.ops import floats
from tests.virtual_gpu.ops.floats import FORMATS
from tests.virtual_gpu.ops.grammar import UNSIGNED_ORDERS
from tests.virtual_gpu.ops.model import Model, halves, read
from tests.virtual_gpu.ops.vectors import width_of

_ORDERED: dict[str, Callable[[int], bool]] = {
    "eq": lambda order: order == 0,
    "ne": lambda order: order != 0,
    "lt": lambda order: order < 0,
    "le": lambda order: order <= 0,
    "gt": lambda order: order > 0,
    "ge": lambda order: order >= 0,
}
_ALIASES = dict(zip(UNSIGNED_ORDERS, ("lt", "le", "gt", "ge"), strict=True))
_JOINS: dict[str, Callable[[int, int], int]] = {
    "and": lambda t, c: t & c,
    "or": lambda t, c: t | c,
    "xor": lambda t, c: t ^ c,
}
_ONES = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}


def compare_model(name: str) -> Model:
    op, comparison, *modifiers, kind = name.split(".")
    result = modifiers.pop() if op == "set" else ""
    join = next((m for m in modifiers if m in _JOINS), None)
    element = kind.removesuffix("x2")
    is_packed = kind.endswith("x2")

    def outcomes(a: int, b: int) -> list[bool]:
        pairs = zip(halves(a), halves(b), strict=True) if is_packed else [(a, b)]
        return [_holds(comparison, x, y, element, "ftz" in modifiers) for x, y in pairs]

    def joined(outcome: bool, other: tuple[int, ...]) -> int:
        return _JOINS[join](int(outcome), other[0]) if join else int(outcome)

    def predicates(a: int, b: int, *other: int) -> tuple[int, ...]:
        found = outcomes(a, b)
        if kind in ("f16", "bf16"):
            return (joined(found[0], other),)
        second = found[1] if is_packed else not found[0]
        return joined(found[0], other), joined(second, other)

    def value(a: int, b: int, *other: int) -> int:
        bits = [joined(outcome, other) * _true_value(result, is_packed) for outcome in outcomes(a, b)]
        return bits[0] | bits[1] << 16 if is_packed else bits[0]

    kinds = (kind, kind, "pred") if join else (kind, kind)
    return Model(kinds, predicates if op == "setp" else value)


def _true_value(result: str, is_packed: bool) -> int:
    """What stands for true: one for floating-point results, all bits of an element for integers."""
    element = result.removesuffix("x2")
    width = 16 if is_packed else width_of(element)
    return _ONES.get(element, (1 << width) - 1)


def _holds(comparison: str, a: int, b: int, kind: str, ftz: bool) -> bool:
    if kind not in FORMATS:
        x, y = read(a, kind), read(b, kind)
        return _ORDERED[_ALIASES.get(comparison, comparison)]((x > y) - (x < y))
    order = _float_order(a, b, kind, ftz)
    if comparison in ("num", "nan"):
        return (order is None) == (comparison == "nan")
    if order is None:
        return comparison.endswith("u")
    return _ORDERED[comparison.removesuffix("u")](order)


@lru_cache(maxsize=1 << 18)  # the forms of a type compare the same operands
def _float_order(a: int, b: int, kind: str, ftz: bool) -> int | None:
    format = FORMATS[kind]
    left, right = format.decode(a), format.decode(b)
    return floats.compare(*(format.flush(x) if ftz else x for x in (left, right)))
