"""What the tensor-core instructions compute, stated apart from the engine: dense matrices in numpy, and the
fragment layouts as the PTX manual writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from tests.virtual_gpu.matrix.library import LANES

# --- Element types: raw bits to values ---------------------------------------------------------------------


def _ieee(
    exponent_bits: int, mantissa_bits: int, has_infinity: bool = True
) -> Callable[[np.ndarray], np.ndarray]:
    """Decoder of a small float format, written from the definition of its fields."""

    def decode(raw: np.ndarray) -> np.ndarray:
        raw = raw.astype(np.int64)
        top, bias = (1 << exponent_bits) - 1, (1 << (exponent_bits - 1)) - 1
        exponent, mantissa = raw >> mantissa_bits & top, raw & ((1 << mantissa_bits) - 1)
        fraction = mantissa / 2.0**mantissa_bits
        value = np.where(
            exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias)
        )
        if has_infinity:
            value = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), value)
        else:
            value = np.where((exponent == top) & (mantissa == (1 << mantissa_bits) - 1), np.nan, value)
        return np.where(raw >> (exponent_bits + mantissa_bits) & 1 == 1, -value, value)

    return decode


def _signed(bits: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda raw: (raw.astype(np.int64) ^ (1 << (bits - 1))) - (1 << (bits - 1))


@dataclass(frozen=True)
class ElementType:
    bits: int
    decode: Callable[[np.ndarray], np.ndarray]
    one: int  # the bits of 1
    exponent: tuple[int, int] | None = None  # place of the lowest exponent bit, count of bits


TYPES = {
    "f16": ElementType(16, _ieee(5, 10), 0x3C00, (10, 5)),
    "bf16": ElementType(16, _ieee(8, 7), 0x3F80, (7, 8)),
    # The hardware ignores the low 13 bits of a tf32 operand.
    "tf32": ElementType(32, lambda raw: _ieee(8, 23)(raw.astype(np.int64) & ~0x1FFF), 0x3F800000, (23, 8)),
    "f32": ElementType(
        32, lambda raw: raw.astype(np.uint32).view(np.float32).astype(np.float64), 0x3F800000, (23, 8)
    ),
    "f64": ElementType(64, lambda raw: raw.astype(np.uint64).view(np.float64), 0x3FF0 << 48, (52, 11)),
    "e4m3": ElementType(8, _ieee(4, 3, has_infinity=False), 0x38, (3, 4)),
    "e5m2": ElementType(8, _ieee(5, 2), 0x3C, (2, 5)),
    "s8": ElementType(8, _signed(8), 1),
    "u8": ElementType(8, lambda raw: raw.astype(np.int64), 1),
    "s4": ElementType(4, _signed(4), 1),
    "u4": ElementType(4, lambda raw: raw.astype(np.int64), 1),
    "s32": ElementType(32, _signed(32), 1),
}


def random_bits(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Random raw elements: all patterns of integers; floats of any sign with exponents around that of 1."""
    element = TYPES[kind]
    raw = rng.integers(0, 1 << element.bits, shape, dtype=np.uint64)
    if element.exponent is None:
        return raw
    low, count = element.exponent
    bias = (1 << (count - 1)) - 1
    spread = min(4, bias - 1)
    exponent = rng.integers(bias - spread, bias + spread + 1, shape, dtype=np.uint64)
    field = np.uint64(((1 << count) - 1) << low)
    return (raw & ~field) | exponent << np.uint64(low)


# --- Opcodes -----------------------------------------------------------------------------------------------

_TYPES = r"(?P<types>\w+(?:\.\w+)*?)"
_MMA = re.compile(
    rf"mma\.sync\.aligned\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)\.row\.col\.(?P<sat>satfinite\.)?{_TYPES}(\.rn)?"
)
_WMMA = re.compile(
    rf"wmma\.mma\.sync\.aligned\.(?P<a>\w+)\.(?P<b>\w+)\.m(?P<m>\d+)n(?P<n>\d+)k(?P<k>\d+)\.{_TYPES}(?P<sat>\.satfinite)?(\.rn)?"
)


@dataclass(frozen=True)
class Form:
    name: str
    m: int
    n: int
    k: int
    d: str
    a: str
    b: str
    c: str
    saturates: bool
    memory: tuple[str, str] | None = None  # how A and B lie in memory: wmma only

    @property
    def is_integer(self) -> bool:
        return self.d == "s32"

    @property
    def shape(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"


def parse(name: str) -> Form:
    """The meaning of an opcode."""
    found = _WMMA.fullmatch(name) or _MMA.fullmatch(name)
    assert found is not None, f"{name} is no matrix product"
    m, n, k = (int(found[dimension]) for dimension in "mnk")
    types = found["types"].split(".")
    d, a, b, c = types if len(types) == 4 else (types[0], "f16", "f16", types[1])
    memory = (found["a"], found["b"]) if "a" in found.groupdict() else None
    return Form(name, m, n, k, d, a, b, c, found["sat"] is not None, memory)


def opcodes() -> Iterator[str]:
    """Every matrix product the engine is to have, as inline PTX and nvcc write it."""
    for k in (8, 16):
        yield from (f"mma.sync.aligned.m16n8k{k}.row.col.{t}.f16.f16.{t}" for t in ("f16", "f32"))
        yield f"mma.sync.aligned.m16n8k{k}.row.col.f32.bf16.bf16.f32"
        yield f"mma.sync.aligned.m16n8k{k // 2}.row.col.f32.tf32.tf32.f32"
    for shape, a, b in product(("m16n8k16", "m16n8k32"), ("e4m3", "e5m2"), ("e4m3", "e5m2")):
        yield f"mma.sync.aligned.{shape}.row.col.f32.{a}.{b}.f32"
    for bits, shapes in (
        ("8", ("m8n8k16", "m16n8k16", "m16n8k32")),
        ("4", ("m8n8k32", "m16n8k32", "m16n8k64")),
    ):
        for shape, sat, a, b in product(shapes, ("", "satfinite."), "su", "su"):
            yield f"mma.sync.aligned.{shape}.row.col.{sat}s32.{a}{bits}.{b}{bits}.s32"
    for shape, rounding in product(("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"), ("", ".rn")):
        yield f"mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64{rounding}"
    for a, b in product(("row", "col"), ("row", "col")):
        start = f"wmma.mma.sync.aligned.{a}.{b}"
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16"):
            yield from (f"{start}.{shape}.{d}.{c}" for d, c in product(("f16", "f32"), ("f16", "f32")))
            yield f"{start}.{shape}.f32.bf16.bf16.f32"
            yield from (
                f"{start}.{shape}.s32.{t}.{t}.s32{sat}" for t in ("s8", "u8") for sat in ("", ".satfinite")
            )
        yield f"{start}.m16n16k8.f32.tf32.tf32.f32"
        yield from (f"{start}.m8n8k4.f64.f64.f64.f64{rounding}" for rounding in ("", ".rn"))


# --- Fragments of mma, as in the PTX manual: (row, col) of element i, g = lane / 4, t = lane % 4 ------------

Place = Callable[[int, int, int], tuple[int, int]]

_A: dict[tuple[int, int, int], Place] = {  # by (m, k, bits)
    (16, 8, 16): lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
    (16, 16, 16): lambda g, t, i: (g if i in (0, 1, 4, 5) else g + 8, t * 2 + (i & 1) + (8 if i >= 4 else 0)),
    (16, 4, 32): lambda g, t, i: (g if i == 0 else g + 8, t),
    (16, 8, 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (8, 16, 8): lambda g, t, i: (g, t * 4 + i),
    (16, 16, 8): lambda g, t, i: (g if i < 4 else g + 8, t * 4 + (i & 3)),
    (16, 32, 8): lambda g, t, i: (
        g if i < 4 or 8 <= i < 12 else g + 8,
        t * 4 + (i & 3) + (16 if i >= 8 else 0),
    ),
    (8, 32, 4): lambda g, t, i: (g, t * 8 + i),
    (16, 32, 4): lambda g, t, i: (g if i < 8 else g + 8, t * 8 + (i & 7)),
    (16, 64, 4): lambda g, t, i: (
        g if i < 8 or 16 <= i < 24 else g + 8,
        t * 8 + (i & 7) + (32 if i >= 16 else 0),
    ),
    (8, 4, 64): lambda g, t, i: (g, t),
    (16, 4, 64): lambda g, t, i: (g if i == 0 else g + 8, t),
    (16, 8, 64): lambda g, t, i: (g if i in (0, 2) else g + 8, t if i < 2 else t + 4),
    (16, 16, 64): lambda g, t, i: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t),
}
_B: dict[tuple[int, int], Place] = {  # by (k, bits)
    (8, 16): lambda g, t, i: (t * 2 + i, g),
    (16, 16): lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    (4, 32): lambda g, t, i: (t, g),
    (8, 32): lambda g, t, i: (t if i == 0 else t + 4, g),
    (16, 8): lambda g, t, i: (t * 4 + i, g),
    (32, 8): lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    (32, 4): lambda g, t, i: (t * 8 + i, g),
    (64, 4): lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    (4, 64): lambda g, t, i: (t, g),
    (8, 64): lambda g, t, i: (t + 4 * i, g),
    (16, 64): lambda g, t, i: (t + 4 * i, g),
}
_C: dict[int, Place] = {  # by m
    8: lambda g, t, i: (g, t * 2 + i),
    16: lambda g, t, i: (g if i < 2 else g + 8, t * 2 + (i & 1)),
}


def places(form: Form, operand: str) -> np.ndarray:
    """(row, col) of every element of an operand of mma: shape (32, elements of a lane, 2)."""
    rows = form.k if operand == "b" else form.m
    cols = form.k if operand == "a" else form.n
    if operand == "a":
        place = _A[form.m, form.k, TYPES[form.a].bits]
    elif operand == "b":
        place = _B[form.k, TYPES[form.b].bits]
    else:
        place = _C[form.m]
    elements = rows * cols // LANES
    return np.array([[place(lane // 4, lane % 4, i) for i in range(elements)] for lane in range(LANES)])


def to_registers(matrix: np.ndarray, where: np.ndarray, kind: str) -> np.ndarray:
    """Raw elements of a dense matrix as the registers (count, 32) of its fragment."""
    bits = TYPES[kind].bits
    width = max(bits, 32)
    elements = matrix[where[..., 0], where[..., 1]].reshape(LANES, -1, width // bits)
    shifts = np.arange(width // bits, dtype=np.uint64) * np.uint64(bits)
    packed = np.bitwise_or.reduce(elements.astype(np.uint64) << shifts, axis=2)
    return np.ascontiguousarray(packed.T.astype(np.uint64 if width == 64 else np.uint32))


def from_registers(registers: np.ndarray, where: np.ndarray, kind: str, rows: int, cols: int) -> np.ndarray:
    """The dense matrix of raw elements that registers (count, 32) of a fragment hold."""
    bits = TYPES[kind].bits
    width = max(bits, 32)
    shifts = np.arange(width // bits, dtype=np.uint64) * np.uint64(bits)
    mask = np.uint64((1 << bits) - 1)
    elements = (registers.T.astype(np.uint64)[..., None] >> shifts & mask).reshape(LANES, -1)
    matrix = np.zeros((rows, cols), np.uint64)
    matrix[where[..., 0], where[..., 1]] = elements
    return matrix


# --- The product -------------------------------------------------------------------------------------------


def multiply_add(form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """A times B plus C as values: exact for integers; for floats rounded as little as float64 can."""
    values = TYPES[form.a].decode(a) @ TYPES[form.b].decode(b) + TYPES[form.c].decode(c)
    if not form.is_integer:
        return values
    if form.saturates:
        return np.clip(values, -(2**31), 2**31 - 1)
    return TYPES["s32"].decode(values & 0xFFFFFFFF)


def tolerance(form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """How far a float result may be off: a rounding of the running sum per product and one of the result."""
    magnitude = np.abs(TYPES[form.a].decode(a)) @ np.abs(TYPES[form.b].decode(b)) + np.abs(
        TYPES[form.c].decode(c)
    )
    sum_rounding = 2.0**-52 if form.d == "f64" else 2.0**-23
    result_rounding = 2.0**-11 * magnitude + 2.0**-25 if form.d == "f16" else 0.0
    return (form.k + 1) * sum_rounding * magnitude + result_rounding
