"""The instructions that random kernels draw from: one row per form, as PTX with its operands' kinds.

Only instructions whose result PTX defines bit for bit are here. A NaN's payload is not defined, so the
helpers of support.cuh turn every NaN into one before its bits are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Kind:
    """A kind of variable: its letter, C++ type and constraint in inline PTX, and how many a kernel has."""

    letter: str
    type: str
    constraint: str
    count: int


KINDS = {
    kind.letter: kind
    for kind in (
        Kind("u", "uint32_t", "r", 6),
        Kind("l", "uint64_t", "l", 4),
        Kind("w", "uint16_t", "h", 3),
        Kind("f", "float", "f", 4),
        Kind("d", "double", "d", 3),
        Kind("h", "uint16_t", "h", 3),  # the bits of an f16
        Kind("b", "uint16_t", "h", 2),  # the bits of a bf16
        Kind("x", "uint32_t", "r", 2),  # two f16
        Kind("y", "uint32_t", "r", 2),  # two bf16
    )
}


@dataclass(frozen=True)
class Operation:
    """One instruction, or few. Its text is PTX with the result as %0 and operands from %1 on, and {name}
    where a random number goes: {bit} is below 64, {byte} below 256, {word} below 2**32. If not `is_ptx`, it
    is a C++ expression, in which $1 is the first operand."""

    result: str
    operands: str
    text: str
    is_ptx: bool = True


def _all_operations() -> Iterator[Operation]:
    yield from _integers()
    yield from _wide_integers()
    yield from _narrow_integers()
    yield from _floats()
    yield from _doubles()
    yield from _small_floats()
    yield from _comparisons()
    yield from _conversions()
    yield from _reinterpretations()


def _three(name: str) -> str:
    return f"{name} %0, %1, %2;"


def _four(name: str) -> str:
    return f"{name} %0, %1, %2, %3;"


def _integers() -> Iterator[Operation]:
    two = (
        "add.u32 sub.u32 mul.lo.u32 mul.hi.u32 mul.hi.s32 mul24.lo.u32 mul24.lo.s32 mul24.hi.u32 "
        "mul24.hi.s32 add.sat.s32 sub.sat.s32 min.u32 max.u32 min.s32 max.s32 and.b32 or.b32 xor.b32 "
        "shl.b32 shr.u32 shr.s32 bmsk.clamp.b32 bmsk.wrap.b32 szext.clamp.u32 szext.clamp.s32 "
        "szext.wrap.u32 szext.wrap.s32"
    )
    one = (
        "not.b32 cnot.b32 neg.s32 abs.s32 popc.b32 clz.b32 brev.b32 bfind.u32 bfind.s32 "
        "bfind.shiftamt.u32 bfind.shiftamt.s32"
    )
    three = (
        "mad.lo.u32 mad.hi.u32 mad.hi.s32 mad.hi.sat.s32 mad24.lo.u32 mad24.hi.s32 sad.u32 sad.s32 "
        "bfe.u32 bfe.s32 shf.l.wrap.b32 shf.l.clamp.b32 shf.r.wrap.b32 shf.r.clamp.b32 prmt.b32 "
        "prmt.b32.f4e prmt.b32.b4e prmt.b32.rc8 prmt.b32.ecl prmt.b32.ecr prmt.b32.rc16 dp4a.u32.u32 "
        "dp4a.u32.s32 dp4a.s32.u32 dp4a.s32.s32 dp2a.lo.u32.u32 dp2a.hi.u32.s32 dp2a.lo.s32.u32 "
        "dp2a.hi.s32.s32 slct.u32.s32"
    )
    yield from (Operation("u", "uu", _three(name)) for name in two.split())
    yield from (Operation("u", "u", f"{name} %0, %1;") for name in one.split())
    yield from (Operation("u", "uuu", _four(name)) for name in three.split())
    yield Operation("u", "uuu", "lop3.b32 %0, %1, %2, %3, {byte};")
    yield Operation("u", "uu", "bfi.b32 %0, %1, %2, {bit}, {bit};")
    yield Operation("u", "u", "bfe.s32 %0, %1, {bit}, {bit};")
    yield Operation("u", "uu", "{{.reg .u32 t; add.u32 t, %1, {word}; xor.b32 %0, t, %2;}}")
    yield Operation("u", "uuuu", "{{.reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, %4;}}")
    yield Operation("u", "uuuu", "{{.reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, %4;}}")
    yield Operation("u", "uuuu", "{{.reg .u32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, %4;}}")
    # Division by zero is undefined, and so is the quotient of the smallest integer and -1.
    yield Operation("u", "uu", "$1 / ($2 | 1u)", is_ptx=False)
    yield Operation("u", "uu", "$1 % ($2 | 1u)", is_ptx=False)
    yield Operation("u", "uu", "uint32_t(int32_t($1) / int32_t(($2 & 0x7fffffffu) | 1u))", is_ptx=False)
    yield Operation("u", "uu", "uint32_t(int32_t($1) % int32_t(($2 & 0x7fffffffu) | 1u))", is_ptx=False)
    yield Operation("u", "uuu", "$1 < $2 ? $3 : $1 ^ $3", is_ptx=False)


def _wide_integers() -> Iterator[Operation]:
    two = (
        "add.u64 sub.u64 mul.lo.u64 mul.hi.u64 mul.hi.s64 min.u64 max.u64 min.s64 max.s64 and.b64 or.b64 "
        "xor.b64"
    )
    yield from (Operation("l", "ll", _three(name)) for name in two.split())
    yield from (Operation("l", "lu", _three(name)) for name in ("shl.b64", "shr.u64", "shr.s64"))
    yield from (
        Operation("l", "l", f"{name} %0, %1;") for name in ("not.b64", "neg.s64", "abs.s64", "brev.b64")
    )
    yield from (
        Operation("u", "l", f"{name} %0, %1;") for name in ("popc.b64", "clz.b64", "bfind.u64", "bfind.s64")
    )
    yield from (Operation("l", "uu", _three(name)) for name in ("mul.wide.u32", "mul.wide.s32"))
    yield from (Operation("l", "uul", _four(name)) for name in ("mad.wide.u32", "mad.wide.s32"))
    yield from (Operation("l", "lll", _four(name)) for name in ("mad.lo.u64", "mad.hi.u64", "mad.hi.s64"))
    yield from (Operation("l", "luu", _four(name)) for name in ("bfe.u64", "bfe.s64"))
    yield Operation("l", "ll", "bfi.b64 %0, %1, %2, {bit}, {bit};")
    yield Operation("l", "uu", "mov.b64 %0, {{%1, %2}};")
    yield Operation("u", "l", "{{.reg .u32 t; mov.b64 {{t, %0}}, %1;}}")
    yield Operation("u", "l", "cvt.u32.u64 %0, %1;")
    yield Operation("l", "u", "cvt.s64.s32 %0, %1;")
    yield Operation("l", "ll", "$1 / ($2 | 1u)", is_ptx=False)
    yield Operation("l", "ll", "$1 % ($2 | 1u)", is_ptx=False)
    yield Operation("l", "lu", "uint64_t(int64_t($1) / int64_t(($2 >> 1) | 1u))", is_ptx=False)


def _narrow_integers() -> Iterator[Operation]:
    two = (
        "add.u16 sub.u16 mul.lo.u16 mul.hi.u16 mul.hi.s16 min.u16 max.u16 min.s16 max.s16 and.b16 or.b16 "
        "xor.b16"
    )
    yield from (Operation("w", "ww", _three(name)) for name in two.split())
    yield from (Operation("w", "wu", _three(name)) for name in ("shl.b16", "shr.u16", "shr.s16"))
    yield from (Operation("w", "w", f"{name} %0, %1;") for name in ("not.b16", "neg.s16", "abs.s16"))
    yield from (Operation("u", "ww", _three(name)) for name in ("mul.wide.u16", "mul.wide.s16"))
    yield Operation("w", "www", _four("mad.lo.u16"))
    yield Operation("u", "wwu", _four("mad.wide.s16"))
    yield Operation("u", "ww", "mov.b32 %0, {{%1, %2}};")
    yield Operation("w", "u", "cvt.u16.u32 %0, %1;")
    yield Operation("u", "w", "cvt.s32.s16 %0, %1;")


_ROUNDINGS = ("rn", "rz", "rm", "rp")


def _floats() -> Iterator[Operation]:
    for name, rounding, end in product(("add", "sub", "mul"), _ROUNDINGS, ("", ".ftz", ".sat", ".ftz.sat")):
        yield Operation("f", "ff", _three(f"{name}.{rounding}{end}.f32"))
    for rounding, end in product(_ROUNDINGS, ("", ".ftz", ".sat")):
        yield Operation("f", "fff", _four(f"fma.{rounding}{end}.f32"))
    for rounding, end in product(_ROUNDINGS, ("", ".ftz")):
        yield Operation("f", "ff", _three(f"div.{rounding}{end}.f32"))
        yield Operation("f", "f", f"rcp.{rounding}{end}.f32 %0, %1;")
        yield Operation("f", "f", f"sqrt.{rounding}{end}.f32 %0, %1;")
    for name, end in product(("min", "max"), ("", ".ftz", ".NaN", ".xorsign.abs")):
        yield Operation("f", "ff", _three(f"{name}{end}.f32"))
    yield from (Operation("f", "f", f"{name}.f32 %0, %1;") for name in ("abs", "neg", "abs.ftz", "neg.ftz"))
    yield Operation("f", "fff", _four("slct.f32.f32"))


def _doubles() -> Iterator[Operation]:
    for name, rounding in product(("add", "sub", "mul", "div"), _ROUNDINGS):
        yield Operation("d", "dd", _three(f"{name}.{rounding}.f64"))
    for rounding in _ROUNDINGS:
        yield Operation("d", "ddd", _four(f"fma.{rounding}.f64"))
        yield Operation("d", "d", f"rcp.{rounding}.f64 %0, %1;")
        yield Operation("d", "d", f"sqrt.{rounding}.f64 %0, %1;")
    yield from (Operation("d", "dd", _three(f"{name}.f64")) for name in ("min", "max"))
    yield from (Operation("d", "d", f"{name}.f64 %0, %1;") for name in ("abs", "neg"))


def _small_floats() -> Iterator[Operation]:
    """f16 has all of these; bf16 has no .ftz and no .sat."""
    for one, type in (("h", "f16"), ("b", "bf16"), ("x", "f16x2"), ("y", "bf16x2")):
        half = type.startswith("f")
        for name in ("add", "sub", "mul"):
            for end in ("", ".ftz", ".sat") if half else ("",):
                yield Operation(one, one * 2, _three(f"{name}.rn{end}.{type}"))
        for end in ("", ".relu", ".ftz", ".sat") if half else ("", ".relu"):
            yield Operation(one, one * 3, _four(f"fma.rn{end}.{type}"))
        for name, end in product(("min", "max"), ("", ".NaN", ".xorsign.abs")):
            yield Operation(one, one * 2, _three(f"{name}{end}.{type}"))
        yield from (Operation(one, one, f"{name}.{type} %0, %1;") for name in ("abs", "neg"))


def _comparisons() -> Iterator[Operation]:
    def compare(letter: str, type: str, comparison: str) -> Operation:
        compared = f"setp.{comparison}.{type} p, %1, %2;"
        return Operation("u", letter * 2, f"{{{{.reg .pred p; {compared} selp.u32 %0, 1, 0, p;}}}}")

    plain, unordered = "eq ne lt le gt ge", "equ neu ltu leu gtu geu num nan"
    for comparison in f"{plain} {unordered}".split():
        yield compare("f", "f32", comparison)
        yield compare("d", "f64", comparison)
        yield compare("h", "f16", comparison)
        yield compare("b", "bf16", comparison)
    for comparison in plain.split():
        yield compare("u", "s32", comparison)
        yield compare("l", "u64", comparison)
        yield compare("l", "s64", comparison)
        yield compare("w", "s16", comparison)
        yield Operation("u", "ff", _three(f"set.{comparison}.u32.f32"))
        yield Operation("f", "uu", _three(f"set.{comparison}.f32.s32"))
    for name in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        test = f"testp.{name}.f32 p, %1;"
        yield Operation("u", "f", f"{{{{.reg .pred p; {test} selp.u32 %0, 1, 0, p;}}}}")
    for join in ("and", "or", "xor"):
        both = f"setp.lt.u32 p, %1, %2; setp.gt.{join}.s32 q, %2, %3, p;"
        yield Operation("u", "uuu", f"{{{{.reg .pred p, q; {both} selp.u32 %0, %1, %3, q;}}}}")


def _conversions() -> Iterator[Operation]:
    integers = (("u", "s32"), ("u", "u32"), ("l", "s64"), ("l", "u64"))
    floats = (("f", "f32"), ("d", "f64"))
    for (one, whole), (other, real), rounding in product(integers, floats, _ROUNDINGS):
        yield Operation(one, other, f"cvt.{rounding}i.{whole}.{real} %0, %1;")
        if (whole, real) not in (("s32", "f64"), ("u32", "f64")):  # exact: no rounding to name
            yield Operation(other, one, f"cvt.{rounding}.{real}.{whole} %0, %1;")
    for rounding in _ROUNDINGS:
        yield Operation("f", "d", f"cvt.{rounding}.f32.f64 %0, %1;")
        yield Operation("f", "f", f"cvt.{rounding}i.f32.f32 %0, %1;")
        yield Operation("d", "d", f"cvt.{rounding}i.f64.f64 %0, %1;")
        yield Operation("u", "h", f"cvt.{rounding}i.s32.f16 %0, %1;")
    yield from (Operation("d", "u", f"cvt.rn.f64.{whole} %0, %1;") for whole in ("s32", "u32"))
    yield Operation("d", "f", "cvt.f64.f32 %0, %1;")
    yield Operation("f", "f", "cvt.sat.f32.f32 %0, %1;")
    yield Operation("f", "f", "cvt.ftz.sat.f32.f32 %0, %1;")
    yield Operation("f", "h", "cvt.f32.f16 %0, %1;")
    yield Operation("f", "b", "cvt.f32.bf16 %0, %1;")
    for rounding, end in product(("rn", "rz"), ("", ".relu")):
        yield Operation("b", "f", f"cvt.{rounding}{end}.bf16.f32 %0, %1;")
        yield Operation("x", "ff", _three(f"cvt.{rounding}{end}.f16x2.f32"))
        yield Operation("y", "ff", _three(f"cvt.{rounding}{end}.bf16x2.f32"))
    yield from (Operation("h", "f", f"cvt.{rounding}.f16.f32 %0, %1;") for rounding in ("rn", "rz"))
    yield from (Operation("h", "u", f"cvt.rn.f16.{whole} %0, %1;") for whole in ("s32", "u32"))
    for small in ("e4m3x2", "e5m2x2"):
        for end in ("", ".relu"):
            yield Operation("w", "ff", _three(f"cvt.rn.satfinite{end}.{small}.f32"))
            yield Operation("x", "w", f"cvt.rn{end}.f16x2.{small} %0, %1;")
    for to, of in (
        ("s8", "s32"),
        ("u8", "s32"),
        ("s16", "s32"),
        ("u16", "s32"),
        ("u32", "s32"),
        ("s32", "u32"),
    ):
        yield Operation("u", "u", f"cvt.sat.{to}.{of} %0, %1;")
    yield from (Operation("u", "u", f"cvt.{to}.{of} %0, %1;") for to, of in (("s32", "s8"), ("u32", "u8")))


def _reinterpretations() -> Iterator[Operation]:
    """Bits as numbers, and numbers as bits without their NaNs; sane numbers, so that not all is NaN."""
    for letter in "fdhbxy":
        whole = {"f": "u", "d": "l", "h": "w", "b": "w", "x": "u", "y": "u"}[letter]
        yield Operation(whole, letter, f"bits_{letter}($1)", is_ptx=False)
        yield Operation(letter, whole, f"from_bits_{letter}($1)", is_ptx=False)
        yield Operation(letter, "u", f"moderate_{letter}($1)", is_ptx=False)
        yield Operation(letter, "u", f"moderate_{letter}($1)", is_ptx=False)


OPERATIONS = tuple(_all_operations())
