"""Instructions and their operands: what is written is what the parser reports, for every form there is."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

PROLOGUE = """.version 9.0
.target sm_90
.address_size 64
.global .u32 symbol[64];
.func callee();
.entry k(.param .u64 parameter) {
.reg .pred %p<1000>; .reg .b32 %r<1000>; .reg .b64 %rd<1000>; .reg .b32 plain, $dollar, _under;
.shared .u32 tile[4];
"""
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Form:
    """An operand as PTX writes it, and as the parser must report it, registers by name."""

    text: str
    expected: dict[str, Any]


def with_value(form: dict[str, Any], value: int) -> dict[str, Any]:
    """The dump leaves a zero out."""
    return {**form, "value": value & MASK} if value & MASK else form


def float_bits(code: str, bits_code: str, value: float) -> int:
    return int(struct.unpack(f"<{bits_code}", struct.pack(f"<{code}", value))[0])


SPECIALS = """%tid.x %tid.y %tid.z %ntid %ctaid.x %nctaid.z %laneid %warpid %nwarpid %smid %nsmid %gridid
%lanemask_eq %lanemask_lt %lanemask_le %lanemask_gt %lanemask_ge %clock %clock64 %clock_hi %globaltimer
%globaltimer_lo %globaltimer_hi %envreg0 %envreg31 %dynamic_smem_size %total_smem_size %aggr_smem_size
%cluster_ctaid.x %cluster_nctaid.y %cluster_ctarank %cluster_nctarank %clusterid.z %nclusterid.x
%is_explicit_cluster %pm7 %pm0_64 %current_graph_exec WARP_SZ""".split()

register_names = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["%r", "%rd", "%p"]), st.integers(0, 999)),
    st.sampled_from(["plain", "$dollar", "_under"]),
)
registers = st.builds(lambda name: Form(name, {"kind": "reg", "reg": name}), register_names)
predicates = st.builds(
    lambda n: Form(f"!%p{n}", {"kind": "reg", "reg": f"%p{n}", "negated": 1}), st.integers(0, 999)
)
specials = st.builds(lambda name: Form(name, {"kind": "special", "name": name}), st.sampled_from(SPECIALS))
sinks = st.just(Form("_", {"kind": "sink"}))


@st.composite
def integers(draw: st.DrawFn) -> Form:
    value = draw(st.integers(-(1 << 63), (1 << 64) - 1))
    spelled = draw(st.sampled_from(["{:d}", "0x{:x}", "0X{:X}", "0x{:x}U", "0b{:b}", "0{:o}"])).format(
        abs(value)
    )
    text = f"-{spelled}" if value < 0 else spelled
    return Form(text, with_value({"kind": "int"}, value))


@st.composite
def floats(draw: st.DrawFn) -> Form:
    value = draw(st.floats(allow_nan=False, allow_infinity=False, width=32))
    style = draw(st.sampled_from(["0f", "0F", "0d", "0D", "decimal"]))
    if style in ("0f", "0F"):
        bits = float_bits("f", "I", value)
        return Form(f"{style}{bits:08X}", with_value({"kind": "float32"}, bits))
    bits = float_bits("d", "Q", value)
    text = f"{value!r}" if style == "decimal" else f"{style}{bits:016x}"
    return Form(text, with_value({"kind": "float64"}, bits))


offsets = st.one_of(
    st.just(("", 0)), st.builds(lambda n: (f"+{n}", n), st.integers(-(1 << 31), (1 << 32) - 1))
)


@st.composite
def symbols(draw: st.DrawFn) -> Form:
    name = draw(st.sampled_from(["symbol", "callee", "parameter", "tile"]))
    text, value = draw(offsets)
    return Form(name + text, with_value({"kind": "symbol", "name": name}, value))


@st.composite
def addresses(draw: st.DrawFn) -> Form:
    offset, value = draw(offsets)
    base = draw(st.one_of(register_names, st.sampled_from(["symbol", "parameter", "tile", ""])))
    if base == "":
        value = draw(st.integers(0, MASK))
        return Form(f"[{value}]", with_value({"kind": "address"}, value))
    key = "name" if base in ("symbol", "parameter", "tile") else "reg"
    blank = draw(st.sampled_from(["", " "]))
    return Form(f"[{blank}{base}{offset}{blank}]", with_value({"kind": "address", key: base}, value))


elements = st.one_of(registers, specials, sinks, integers(), floats())


@st.composite
def vectors(draw: st.DrawFn) -> Form:
    items = draw(st.lists(elements, min_size=1, max_size=8))
    joined = draw(st.sampled_from([",", ", "])).join(item.text for item in items)
    return Form(f"{{{joined}}}", {"kind": "vector", "items": [item.expected for item in items]})


@st.composite
def coordinates(draw: st.DrawFn) -> Form:
    address, vector = draw(addresses()), draw(vectors())
    text = f"{address.text[:-1]}, {vector.text}]"
    return Form(text, {**address.expected, "items": [vector.expected]})


@st.composite
def pairs(draw: st.DrawFn) -> Form:
    first, second = draw(st.one_of(registers, sinks)), draw(st.one_of(registers, sinks))
    return Form(f"{first.text}|{second.text}", {"kind": "pair", "items": [first.expected, second.expected]})


operands = st.one_of(
    registers,
    predicates,
    specials,
    sinks,
    integers(),
    floats(),
    symbols(),
    addresses(),
    vectors(),
    coordinates(),
    pairs(),
)
opcode_words = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
opcode_parts = st.from_regex(r"[A-Za-z0-9_]{1,6}(::[A-Za-z0-9_]{1,6}){0,2}", fullmatch=True)
# These three take labels and parameters; test_ptx_functions.py has them.
opcodes = st.builds(
    lambda word, parts: ".".join([word, *parts]), opcode_words, st.lists(opcode_parts, max_size=5)
).filter(lambda opcode: opcode.split(".")[0] not in ("bra", "brx", "call"))
guards = st.one_of(st.none(), st.tuples(st.booleans(), st.integers(0, 999)))


@st.composite
def instructions(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    opcode, forms, guard = draw(opcodes), draw(st.lists(operands, max_size=6)), draw(guards)
    expected: dict[str, Any] = {"opcode": opcode, "operands": [form.expected for form in forms]}
    prefix = ""
    if guard is not None:
        negated, number = guard
        prefix = f"@{'!' * negated}%p{number} "
        expected["guard"] = f"%p{number}"
        if negated:
            expected["guard_negated"] = 1
    blank = draw(st.sampled_from([" ", "\t", "\n", " // a comment ;\n", " /* ; */ "]))
    return f"{prefix}{opcode}{blank}{', '.join(form.text for form in forms)};", expected


def named(node: Any, names: list[str]) -> Any:
    """A dumped operand with register names in place of indices."""
    if isinstance(node, list):
        return [named(item, names) for item in node]
    if isinstance(node, dict):
        return {
            key: names[value] if key in ("reg", "guard") else named(value, names)
            for key, value in node.items()
            if key not in ("ptx_line", "loc")
        }
    return node


def parse_body(ptx, lines: list[str]) -> list[dict[str, Any]]:
    function = ptx.module(PROLOGUE + "\n".join(lines) + "\n}\n")["functions"][-1]
    names = [register.split()[0] for register in function["regs"]]
    parsed: list[dict[str, Any]] = named(function["body"], names)
    return parsed


@given(generated=st.lists(instructions(), min_size=1, max_size=40))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_generated_instructions_come_back_as_written(ptx, generated):
    assert parse_body(ptx, [text for text, _ in generated]) == [expected for _, expected in generated]


@pytest.mark.parametrize("name", SPECIALS)
def test_special_registers(ptx, name):
    assert parse_body(ptx, [f"mov.u32 %r1, {name};"])[0]["operands"][1] == {"kind": "special", "name": name}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3 + 4 * 2", 11),
        ("(3 + 4) * 2", 14),
        ("10 - 3 - 2", 5),
        ("-(4)", -4),
        ("- -4", 4),
        ("+4", 4),
        ("~1", ~1),
        ("1 << 4 | 1", 17),
        ("-16 >> 2", -4),
        ("0xFFFFFFFFFFFFFFFF >> 60", 15),
        ("6 & 3 ^ 1", 3),
        ("-7 / 2", -3),
        ("0x8000000000000000 / 2", 1 << 62),
        ("1 << 64", 0),
        ("WARP_SZ - 1", 31),
        ("(WARP_SZ)", 32),
    ],
)
def test_constant_expressions(ptx, expression, value):
    assert parse_body(ptx, [f"mov.u64 %rd1, {expression};"])[0]["operands"][1] == with_value(
        {"kind": "int"}, value
    )


@pytest.mark.parametrize("address", ["[%rd1-8]", "[%rd1+-8]", "[%rd1 + -8]", "[%rd1+(4-12)]"])
def test_address_offsets(ptx, address):
    expected = with_value({"kind": "address", "reg": "%rd1"}, -8)
    assert parse_body(ptx, [f"ld.u32 %r1, {address};"])[0]["operands"][1] == expected


def test_opcode_with_blanks_between_its_parts(ptx):
    assert parse_body(ptx, ["ld .global .L2::128B.u32 %r1, [%rd1];"])[0]["opcode"] == "ld.global.L2::128B.u32"


def test_instructions_know_their_line(ptx):
    first = PROLOGUE.count("\n") + 1
    text = PROLOGUE + "add;\n/* two\nlines */ sub; mul;\n\n@%p1\ndiv; }"
    assert [i["ptx_line"] for i in ptx.module(text)["functions"][-1]["body"]] == [
        first,
        first + 2,
        first + 2,
        first + 4,
    ]
