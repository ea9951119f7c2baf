"""Integer arithmetic on Python's unbounded integers, cut to the type's width at the end."""

from __future__ import annotations

from collections.abc import Callable

from tests.virtual_gpu.ops.model import Model, clamped, packed, read, signed, wrapped

_OPERATIONS: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "min": min,
    "max": max,
    "neg": lambda a: -a,
    "abs": abs,
    "sad": lambda a, b, c: c + abs(a - b),
}


def integer_model(name: str) -> Model:
    op, *modifiers, kind = name.split(".")
    if op in ("dp4a", "dp2a"):
        return _dot_product(name)
    if op.startswith("vabsdiff"):
        return _differences(name)
    if kind.endswith("x2"):
        return _packed_model(op, modifiers, kind)
    if "cc" in modifiers or op in ("addc", "subc", "madc"):
        return _carry_model(op, modifiers, kind)
    width = int(kind[1:])
    if op in ("mul", "mad", "mul24", "mad24"):
        return _product_model(op, modifiers, kind)
    if op in ("div", "rem"):
        return Model((kind, kind), lambda a, b: _quotient(op, read(a, kind), read(b, kind), width))

    def compute(*sources: int) -> int:
        value = _OPERATIONS[op](*(read(bits, kind) for bits in sources))
        if "sat" in modifiers:
            value = clamped(value, kind)
        if "relu" in modifiers:
            value = max(value, 0)
        return wrapped(value, width)

    count = {"neg": 1, "abs": 1, "sad": 3}.get(op, 2)
    return Model((kind,) * count, compute)


def _quotient(op: str, a: int, b: int, width: int) -> int:
    if b == 0:
        return (1 << width) - 1  # what the hardware's code answers, for both
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return wrapped(quotient if op == "div" else a - quotient * b, width)


def _part(op: str, mode: str, a: int, b: int, kind: str) -> int:
    """The part of the product that the mode keeps, read as the type."""
    width = int(kind[1:])
    if op.endswith("24"):
        narrow = f"{kind[0]}24"
        product = read(wrapped(a, 24), narrow) * read(wrapped(b, 24), narrow)
        kept = product >> 16 if mode == "hi" else product
    else:
        product = read(a, kind) * read(b, kind)
        kept = product >> width if mode == "hi" else product
    return read(wrapped(kept, width), kind)


def _product_model(op: str, modifiers: list[str], kind: str) -> Model:
    width, mode, adds = int(kind[1:]), modifiers[0], op.startswith("mad")
    if mode == "wide":
        wide = f"{kind[0]}{2 * width}"

        def compute_wide(a: int, b: int, c: int = 0) -> int:
            return wrapped(read(a, kind) * read(b, kind) + c, 2 * width)

        return Model((kind, kind, wide) if adds else (kind, kind), compute_wide)

    def compute(a: int, b: int, c: int = 0) -> int:
        total = _part(op, mode, a, b, kind) + read(c, kind)
        return wrapped(clamped(total, kind) if "sat" in modifiers else total, width)

    return Model((kind,) * (3 if adds else 2), compute)


def _carry_model(op: str, modifiers: list[str], kind: str) -> Model:
    """Unsigned sums of the operands' bits; the carry is the bit above. A difference is a sum: a + ~b + 1."""
    width = int(kind[1:])
    reads, writes = op.endswith("c") and op not in ("add", "sub", "mad"), "cc" in modifiers
    base = op.removesuffix("c") if reads else op
    mode = modifiers[0] if base == "mad" else ""

    def compute(*sources: int) -> tuple[int, ...]:
        *operands, carry = sources if reads else (*sources, int(base == "sub"))
        if base == "mad":
            a, b, c = operands
            total = wrapped(_part(base, mode, a, b, kind), width) + c + carry
        else:
            a, b = operands
            total = a + (b if base == "add" else wrapped(~b, width)) + carry
        result = wrapped(total, width)
        return (result, int(total != result)) if writes else (result,)

    count = 3 if base == "mad" else 2
    return Model((kind,) * count + (("pred",) if reads else ()), compute)


def _packed_model(op: str, modifiers: list[str], kind: str) -> Model:
    element = kind.removesuffix("x2")

    def one(a: int, b: int) -> int:
        value = _OPERATIONS[op](read(a, element), read(b, element))
        return wrapped(max(value, 0) if "relu" in modifiers else value, 16)

    return Model((kind, kind), packed(one))


def _dot_product(name: str) -> Model:
    op, *modes, a_kind, b_kind = name.split(".")

    def elements(bits: int, width: int, is_signed: bool) -> list[int]:
        parts = [wrapped(bits >> shift, width) for shift in range(0, 32, width)]
        return [signed(part, width) if is_signed else part for part in parts]

    def compute(a: int, b: int, c: int) -> int:
        left = elements(a, 8 if op == "dp4a" else 16, a_kind == "s32")
        right = elements(b, 8, b_kind == "s32")
        if modes == ["hi"]:
            right = right[2:]
        return wrapped(c + sum(x * y for x, y in zip(left, right, strict=False)), 32)

    return Model(("u32", "u32", "u32"), compute)


def _differences(name: str) -> Model:
    width = 32 // int(name.removeprefix("vabsdiff")[0])

    def compute(a: int, b: int, c: int) -> int:
        shifts = range(0, 32, width)
        parts = [abs(wrapped(a >> shift, width) - wrapped(b >> shift, width)) for shift in shifts]
        if name.endswith(".add"):
            return wrapped(c + sum(parts), 32)
        return sum(part << shift for part, shift in zip(parts, shifts, strict=True))

    return Model(("u32", "u32", "u32"), compute)
