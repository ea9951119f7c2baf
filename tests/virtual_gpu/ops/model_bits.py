"""Logic, shifts, bit fields and byte permutes, bit by bit as the PTX manual describes them."""

from __future__ import annotations

from collections.abc import Callable

from tests.virtual_gpu.ops.model import Model, read, wrapped
from tests.virtual_gpu.ops.vectors import width_of

_ALL_32 = 0xFFFFFFFF

_LOGIC: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}

# Which of the eight source bytes each named mode puts into bytes 3, 2, 1, 0, by the low bits of c.
_PERMUTES = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}


def bits_model(name: str) -> Model:
    op, *modifiers = name.split(".")
    kind = modifiers[-1]
    if op in _LOGIC:
        return Model((kind, kind), _LOGIC[op])
    if op == "lop3":
        return Model(("b32",) * 3, _lookup, immediates=(0x96, 0xE8, 0xCA, 0x01, 0x80, 0x3C, 0xFF, 0x00, 0x5A))
    if op == "prmt":
        mode = modifiers[1] if len(modifiers) > 1 else ""
        return Model(("b32", "b32", "b32"), lambda a, b, c: _permute(mode, a, b, c))
    if op == "shf":
        direction, mode, _ = modifiers
        return Model(("b32", "b32", "b32"), lambda a, b, c: _funnel(direction, mode, a, b, c))
    if op == "fns":
        return Model(("b32", "c5", "s32"), _find_nth)
    width = width_of(kind)
    return {
        "not": Model((kind,), lambda a: a ^ ((1 << width) - 1)),
        "cnot": Model((kind,), lambda a: int(a == 0)),
        "shl": Model((kind, "c32"), lambda a, n: wrapped(a << min(n, width), width)),
        "shr": Model((kind, "c32"), lambda a, n: wrapped(read(a, kind) >> min(n, width), width)),
        "popc": Model((kind,), lambda a: a.bit_count()),
        "clz": Model((kind,), lambda a: width - a.bit_length()),
        "brev": Model((kind,), lambda a: int(f"{a:0{width}b}"[::-1], 2)),
        "bfind": Model((kind,), lambda a: _find_highest(a, kind, "shiftamt" in modifiers)),
        "bfe": Model((kind, "c32", "c32"), lambda a, p, n: _extract(a, p, n, kind)),
        "bfi": Model((kind, kind, "c32", "c32"), lambda a, b, p, n: _insert(a, b, p, n, width)),
        "szext": Model((kind, "c32"), lambda a, n: _extend(a, n, modifiers[0], kind)),
        "bmsk": Model(("c32", "c32"), lambda p, n: _field_mask(p, n, modifiers[0])),
    }[op]


def _lookup(a: int, b: int, c: int, table: int) -> int:
    def bit(i: int) -> int:
        return table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1

    return sum(bit(i) << i for i in range(32))


def _permute(mode: str, a: int, b: int, c: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    if mode:
        return int.from_bytes(bytes(source[int(k)] for k in _PERMUTES[mode][c & 3]), "big")
    result = 0
    for position in range(4):
        code = c >> (4 * position) & 15
        byte = source[code & 7]
        if code & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << (8 * position)
    return result


def _funnel(direction: str, mode: str, a: int, b: int, c: int) -> int:
    count = c & 31 if mode == "wrap" else min(c, 32)
    pair = b << 32 | a
    return pair << count >> 32 & _ALL_32 if direction == "l" else pair >> count & _ALL_32


def _find_highest(a: int, kind: str, shift_amount: bool) -> int:
    value = read(a, kind)
    position = (~value if value < 0 else value).bit_length() - 1
    if position < 0:
        return _ALL_32
    return width_of(kind) - 1 - position if shift_amount else position


def _find_nth(mask: int, base: int, offset_bits: int) -> int:
    offset = read(offset_bits, "s32")
    if offset == 0:
        return base if mask >> base & 1 else _ALL_32
    step = 1 if offset > 0 else -1
    found = [p for p in range(base, 32 if step > 0 else -1, step) if mask >> p & 1]
    return found[abs(offset) - 1] if len(found) >= abs(offset) else _ALL_32


def _extract(a: int, position: int, length: int, kind: str) -> int:
    width = width_of(kind)
    if width == 32:  # of 64 bits, hardware looks at all of them
        position, length = position & 0xFF, length & 0xFF
    fill = a >> min(position + length - 1, width - 1) & 1 if kind.startswith("s") and length else 0
    bits = [a >> (position + i) & 1 if i < length and position + i < width else fill for i in range(width)]
    return sum(bit << i for i, bit in enumerate(bits))


def _insert(a: int, b: int, position: int, length: int, width: int) -> int:
    position, length = position & 0xFF, length & 0xFF
    for i in range(length):
        if position + i < width:
            b = b & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
    return b


def _extend(a: int, count: int, mode: str, kind: str) -> int:
    bits = count & 31 if mode == "wrap" else min(count, 32)
    value = a & ((1 << bits) - 1)
    if kind == "s32" and bits and value >> (bits - 1):
        value -= 1 << bits
    return wrapped(value, 32)


def _field_mask(position: int, length: int, mode: str) -> int:
    if mode == "wrap":
        position, length = position & 31, length & 31
    return ((1 << min(length, 32)) - 1) << min(position, 32) & _ALL_32
