"""Moves, packing moves and selections."""

from __future__ import annotations

from tests.virtual_gpu.ops.floats import F32
from tests.virtual_gpu.ops.model import Model, signed, wrapped


def move_model(name: str, signature: str) -> Model:
    op, *modifiers = name.split(".")
    if op == "selp":
        return Model((modifiers[-1], modifiers[-1], "pred"), lambda a, b, p: a if p else b)
    if op == "slct":
        kind, condition = modifiers[-2:]
        return Model((kind, kind, condition), lambda a, b, c: a if _not_negative(c, modifiers) else b)
    result, *sources = signature.split()
    if "x" in result:
        width, count = map(int, result.split("x"))
        return Model(
            (f"b{sources[0]}",), lambda a: tuple(wrapped(a >> (width * k), width) for k in range(count))
        )
    if "x" in sources[0]:
        width, count = map(int, sources[0].split("x"))
        # An 8-bit register has no more than its 8 bits, whatever its slot holds besides.
        kinds = ("b16" if width == 8 else f"b{width}",) * count
        return Model(
            kinds, lambda *parts: sum(wrapped(part, width) << (width * k) for k, part in enumerate(parts))
        )
    return Model((modifiers[-1],), lambda a: a)


def _not_negative(bits: int, modifiers: list[str]) -> bool:
    if modifiers[-1] == "s32":
        return signed(bits, 32) >= 0
    x = F32.decode(bits)
    if "ftz" in modifiers:
        x = F32.flush(x)
    return not x.is_nan and (x.is_zero or not x.negative)
