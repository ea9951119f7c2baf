"""The forms that the arithmetic tables must have: PTX's grammar for sm_90, as (name, signature) pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from tests.virtual_gpu.ops.vectors import width_of

Form = tuple[str, str]

INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
WIDE_INTEGERS = ("u32", "s32", "u64", "s64")
SMALL_INTEGERS = ("u8", "s8")
BITS = ("b16", "b32", "b64")
HALVES = ("f16", "f16x2")
BFLOATS = ("bf16", "bf16x2")
ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")
UNSIGNED_ORDERS = ("lo", "ls", "hi", "hs")
FLOAT_COMPARISONS = (*ORDERS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
FTZ = ("", ".ftz")
SAT = ("", ".sat")
ROUNDINGS = (".rn", ".rz", ".rm", ".rp")
INTEGRAL_ROUNDINGS = (".rni", ".rzi", ".rmi", ".rpi")


def spelled(*parts: Iterable[str]) -> Iterator[str]:
    """Every way to take one of each part, joined."""
    return ("".join(chosen) for chosen in product(*parts))


def same_width(names: Iterable[str], operands: int) -> Iterator[Form]:
    """Forms whose result and operands are as wide as the last type of the name."""
    for name in names:
        width = width_of(name.rsplit(".", 1)[1])
        yield name, " ".join([str(width)] * (1 + operands))


def typed(stems: Iterable[str], types: Iterable[str]) -> list[str]:
    return [f"{stem}.{type}" for stem, type in product(stems, types)]


def integer_forms() -> Iterator[Form]:
    yield from same_width(typed(("add", "sub", "min", "max", "div", "rem", "mul.lo", "mul.hi"), INTEGERS), 2)
    yield from same_width(typed(("mad.lo", "mad.hi", "sad"), INTEGERS), 3)
    yield from same_width(typed(("neg", "abs"), ("s16", "s32", "s64")), 1)
    yield from same_width(("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"), 2)
    yield from same_width(typed(("add", "min", "max"), ("u16x2", "s16x2")), 2)
    yield from same_width(("min.relu.s16x2", "max.relu.s16x2"), 2)
    yield from same_width(typed(("mul24.lo", "mul24.hi"), ("u32", "s32")), 2)
    yield from same_width(typed(("mad24.lo", "mad24.hi"), ("u32", "s32")), 3)
    yield from same_width(("mad.hi.sat.s32", "mad24.hi.sat.s32"), 3)
    for type in INTEGERS[:4]:
        narrow, wide = width_of(type), 2 * width_of(type)
        yield f"mul.wide.{type}", f"{wide} {narrow} {narrow}"
        yield f"mad.wide.{type}", f"{wide} {narrow} {narrow} {wide}"
    for stem in ("dp4a", "dp2a.lo", "dp2a.hi"):
        yield from same_width(spelled((stem,), (".u32", ".s32"), (".u32", ".s32")), 3)
    for name in spelled(("vabsdiff2", "vabsdiff4"), (".u32.u32.u32",), ("", ".add")):
        yield name, "32 32 32 32"
    for type, (stem, operands) in product(WIDE_INTEGERS, (("add", 2), ("sub", 2), ("mad", 3))):
        widths = " ".join([str(width_of(type))] * (1 + operands))
        for part in (".lo", ".hi") if stem == "mad" else ("",):
            yield f"{stem}{part}.cc.{type}", f"{widths} +c"
            yield f"{stem}c{part}.{type}", f"{widths} -c"
            yield f"{stem}c{part}.cc.{type}", f"{widths} *c"


def float_forms() -> Iterator[Form]:
    sums = ("add", "sub", "mul")
    yield from same_width(spelled(sums, ("", *ROUNDINGS), FTZ, SAT, (".f32",)), 2)
    yield from same_width(spelled(sums, ("", *ROUNDINGS), (".f64",)), 2)
    yield from same_width(spelled(("fma", "mad"), ROUNDINGS, FTZ, SAT, (".f32",)), 3)
    yield from same_width(spelled(("fma", "mad"), ROUNDINGS, (".f64",)), 3)
    for stem, operands in (("div", 2), ("rcp", 1), ("sqrt", 1)):
        yield from same_width(spelled((stem,), ROUNDINGS, FTZ, (".f32",)), operands)
        yield from same_width(spelled((stem,), ROUNDINGS, (".f64",)), operands)
    yield from same_width(spelled(("min", "max"), FTZ, ("", ".NaN"), ("", ".xorsign.abs"), (".f32",)), 2)
    yield from same_width(("min.f64", "max.f64"), 2)
    yield from same_width(typed(("neg", "abs"), ("f32", "f64")), 1)
    yield from same_width(("neg.ftz.f32", "abs.ftz.f32"), 1)
    yield from same_width(("copysign.f32", "copysign.f64"), 2)
    tests = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
    for test, type in product(tests, ("f32", "f64")):
        yield f"testp.{test}.{type}", f"p {width_of(type)}"


def half_forms() -> Iterator[Form]:
    sums, extrema, signs = ("add", "sub", "mul"), ("min", "max"), ("neg", "abs")
    f16, bf16 = [f".{type}" for type in HALVES], [f".{type}" for type in BFLOATS]
    extremum_modifiers = ("", ".NaN"), ("", ".xorsign.abs")
    yield from same_width(spelled(sums, ("", ".rn"), FTZ, SAT, f16), 2)
    yield from same_width(spelled(("fma.rn",), FTZ, ("", ".sat", ".relu"), f16), 3)
    yield from same_width(spelled(extrema, FTZ, *extremum_modifiers, f16), 2)
    yield from same_width(spelled(signs, FTZ, f16), 1)
    yield from same_width(spelled(sums, ("", ".rn"), bf16), 2)
    yield from same_width(spelled(("fma.rn",), ("", ".relu"), bf16), 3)
    yield from same_width(spelled(extrema, *extremum_modifiers, bf16), 2)
    yield from same_width(spelled(signs, bf16), 1)


def special_function_forms() -> Iterator[Form]:
    yield from same_width(
        spelled(("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"), (".approx",), FTZ, (".f32",)), 1
    )
    yield from same_width(spelled(("div.approx", "div.full"), FTZ, (".f32",)), 2)
    yield from same_width(("rcp.approx.ftz.f64", "rsqrt.approx.f64", "rsqrt.approx.ftz.f64"), 1)
    yield from same_width(typed(("tanh.approx",), ("f32", *HALVES, *BFLOATS)), 1)
    yield from same_width(typed(("ex2.approx",), HALVES), 1)
    yield from same_width(typed(("ex2.approx.ftz",), BFLOATS), 1)


def bit_forms() -> Iterator[Form]:
    yield from same_width(typed(("and", "or", "xor"), BITS), 2)
    yield from same_width(typed(("not", "cnot"), BITS), 1)
    yield from ((f"{op}.pred", "p p p") for op in ("and", "or", "xor"))
    yield "not.pred", "p p"
    yield "lop3.b32", "32 32 32 32 #"
    for type in BITS:
        yield f"shl.{type}", f"{width_of(type)} {width_of(type)} 32"
    for type in (*BITS, *INTEGERS):
        yield f"shr.{type}", f"{width_of(type)} {width_of(type)} 32"
    yield from same_width(spelled(("shf",), (".l", ".r"), (".wrap", ".clamp"), (".b32",)), 3)
    for type in WIDE_INTEGERS:
        width = width_of(type)
        yield f"bfe.{type}", f"{width} {width} 32 32"
        yield f"bfind.{type}", f"32 {width}"
        yield f"bfind.shiftamt.{type}", f"32 {width}"
    for type in ("b32", "b64"):
        width = width_of(type)
        yield f"bfi.{type}", f"{width} {width} {width} 32 32"
        yield f"popc.{type}", f"32 {width}"
        yield f"clz.{type}", f"32 {width}"
        yield f"brev.{type}", f"{width} {width}"
    yield "fns.b32", "32 32 32 32"
    yield from same_width(spelled(("szext",), (".wrap", ".clamp"), (".u32", ".s32")), 2)
    yield from same_width(spelled(("bmsk",), (".wrap", ".clamp"), (".b32",)), 2)
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield f"prmt.b32{mode}", "32 32 32 32"


def move_forms() -> Iterator[Form]:
    types = (*BITS, *INTEGERS, "f32", "f64")
    yield from same_width(typed(("mov",), types), 1)
    yield "mov.pred", "p p"
    for whole, parts in ((16, "8x2"), (32, "8x4"), (32, "16x2"), (64, "16x4"), (64, "32x2")):
        yield f"mov.b{whole}", f"{whole} {parts}"
        yield f"mov.b{whole}", f"{parts} {whole}"
    for type in types:
        width = width_of(type)
        yield f"selp.{type}", f"{width} {width} {width} p"
        for form in (f"slct.{type}.s32", f"slct.{type}.f32", f"slct.ftz.{type}.f32"):
            yield form, f"{width} {width} {width} 32"


def compare_forms() -> Iterator[Form]:
    joins = ("", ".and", ".or", ".xor")

    def rows(comparisons: Iterable[str], type: str, ftz: str, results: Iterable[str]) -> Iterator[Form]:
        operands = f"{width_of(type)} {width_of(type)}"
        for comparison, join in product(comparisons, joins):
            last = " p" if join else ""
            predicates = "p" if type in ("f16", "bf16") else "p|p"
            yield f"setp.{comparison}{join}{ftz}.{type}", f"{predicates} {operands}{last}"
            for result in results:
                yield f"set.{comparison}{join}{ftz}.{result}.{type}", f"{width_of(result)} {operands}{last}"

    ordinary = ("u32", "s32", "f32", "f16", "bf16")
    for type in INTEGERS:
        names = (*ORDERS, *UNSIGNED_ORDERS) if type.startswith("u") else ORDERS
        yield from rows(names, type, "", ordinary)
    for type in BITS:
        yield from rows(("eq", "ne"), type, "", ordinary)
    floats = FLOAT_COMPARISONS
    integers = ("u16", "s16", "u32", "s32")
    yield from rows(floats, "f32", "", ordinary)
    yield from rows(floats, "f32", ".ftz", ordinary[:-1])
    yield from rows(floats, "f64", "", ordinary)
    yield from rows(floats, "f16", "", (*integers, "f16", "bf16"))
    yield from rows(floats, "f16", ".ftz", (*integers, "f16"))
    yield from rows(floats, "bf16", "", (*integers, "bf16"))
    for ftz in FTZ:
        yield from rows(floats, "f16x2", ftz, ("u32", "s32", "f16x2"))
    yield from rows(floats, "bf16x2", "", ("u32", "s32", "bf16x2"))


def convert_forms() -> Iterator[Form]:
    for name in conversions():
        yield from _with_register_widths(name)
    for rounding, limit, format in product((".rn", ".rz"), _FINITE_LIMITS, ("f16x2", "bf16x2")):
        yield f"cvt{rounding}{limit}.{format}.f32", "32 32 32"
    for relu, format in product(("", ".relu"), ("e4m3x2", "e5m2x2")):
        yield f"cvt.rn.satfinite{relu}.{format}.f32", "16 32 32"
        yield f"cvt.rn.satfinite{relu}.{format}.f16x2", "16 32"
        yield f"cvt.rn{relu}.f16x2.{format}", "32 16"
    for modifiers in (".rna", ".rna.satfinite", ".rn", ".rn.relu", ".rz", ".rz.relu"):
        yield f"cvt{modifiers}.tf32.f32", "32 32"
    for sign in "us":
        yield f"cvt.pack.sat.{sign}16.s32", "32 32 32"
        for bits in (8, 4, 2):
            yield f"cvt.pack.sat.{sign}{bits}.s32.b32", "32 32 32 32"


_FINITE_LIMITS = ("", ".relu", ".satfinite", ".relu.satfinite")


def conversions() -> Iterator[str]:
    """cvt from one register to one register, between the ordinary types."""
    integers = (*SMALL_INTEGERS, *INTEGERS)
    for to, source in product(integers, integers):
        yield f"cvt.{to}.{source}"
        if not _contains(to, source):
            yield f"cvt.sat.{to}.{source}"
    for integer in integers:
        for type, ftz in (("f16", ("",)), ("f32", FTZ), ("f64", ("",))):
            yield from spelled(("cvt",), INTEGRAL_ROUNDINGS, ftz, SAT, (f".{integer}.{type}",))
            yield from spelled(("cvt",), ROUNDINGS, ftz, SAT, (f".{type}.{integer}",))
        yield from spelled(("cvt",), INTEGRAL_ROUNDINGS, (f".{integer}.bf16",))
        yield from spelled(("cvt",), ROUNDINGS, (f".bf16.{integer}",))
    yield from spelled(("cvt",), ROUNDINGS, FTZ, SAT, (".f16.f32", ".f32.f64"))
    yield from spelled(("cvt",), ROUNDINGS, SAT, (".f16.f64",))
    yield from spelled(("cvt",), ROUNDINGS, FTZ, (".bf16.f32",))
    yield from spelled(("cvt",), ROUNDINGS, (".bf16.f64", ".bf16.f16", ".f16.bf16"))
    yield from spelled(("cvt",), (".rn", ".rz"), _FINITE_LIMITS[1:], (".f16.f32", ".bf16.f32"))
    yield from spelled(("cvt",), FTZ, SAT, (".f32.f16", ".f64.f32"))
    yield from spelled(("cvt",), SAT, (".f64.f16",))
    yield from spelled(("cvt",), ("", *ROUNDINGS), FTZ, (".f32.bf16",))
    yield from spelled(("cvt",), ("", *ROUNDINGS), (".f64.bf16",))
    yield from spelled(("cvt",), ("", *INTEGRAL_ROUNDINGS), SAT, (".f16.f16", ".f64.f64"))
    yield from spelled(("cvt",), ("", *INTEGRAL_ROUNDINGS), FTZ, SAT, (".f32.f32",))
    yield from spelled(("cvt",), ("", *INTEGRAL_ROUNDINGS), (".bf16.bf16",))


def _contains(outer: str, inner: str) -> bool:
    """Whether every value of the inner integer type is one of the outer."""
    if inner.startswith("s"):
        return outer.startswith("s") and width_of(outer) >= width_of(inner)
    return width_of(outer) > width_of(inner) or (outer.startswith("u") and width_of(outer) == width_of(inner))


def _with_register_widths(name: str) -> Iterator[Form]:
    to, source = name.split(".")[-2:]
    exact_only = "bf16" in (to, source)
    for wide_to, wide_source in product(_registers(to, exact_only), _registers(source, exact_only)):
        exact = (wide_to, wide_source) == (width_of(to), width_of(source))
        suffix = "" if exact else f"#{wide_to}.{wide_source}"
        yield f"{name}{suffix}", f"{wide_to} {wide_source}"


def _registers(type: str, exact_only: bool) -> list[int]:
    wide_enough = [width for width in (16, 32, 64) if width >= width_of(type)]
    return wide_enough[:1] if exact_only else wide_enough


def all_forms() -> list[Form]:
    families = (integer_forms, float_forms, half_forms, convert_forms, compare_forms, bit_forms, move_forms)
    return [form for family in (*families, special_function_forms) for form in family()]
