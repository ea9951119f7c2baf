"""Module scope: version and target, variables and their initial values, functions, source locations."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
SLOW_IS_FINE = [HealthCheck.too_slow]


def variables_of(ptx, declarations: str) -> dict[str, dict[str, Any]]:
    return {variable["name"]: variable for variable in ptx.module(HEADER + declarations)["variables"]}


def functions_of(ptx, text: str) -> dict[str, dict[str, Any]]:
    return {function["name"]: function for function in ptx.module(HEADER + text)["functions"]}


def test_version_and_target_are_kept(ptx):
    module = ptx.module(".version 8.7\n.target sm_90a, debug\n.address_size 64\n")
    assert (module["version_major"], module["version_minor"], module["target"]) == (8, 7, "sm_90a")


def test_zero_bytes_that_pad_a_fat_binary_are_ignored(ptx):
    assert ptx.module(HEADER + "\0\0\0")["functions"] == []
    assert "unexpected character" in ptx.error(HEADER + "\0.global .u32 lost;")


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (".global .u32 x;", {"space": "global", "type": "u32", "align": 4, "bytes": 4}),
        (".const .align 8 .b8 x[48];", {"space": "const", "type": "b8", "align": 8, "bytes": 48}),
        (".shared .f64 x[4][5];", {"space": "shared", "type": "f64", "align": 8, "bytes": 160}),
        (".global .v4 .f32 x[2];", {"space": "global", "type": "f32", "align": 16, "bytes": 32}),
        (".weak .global .s16 x;", {"space": "global", "type": "s16", "align": 2, "bytes": 2}),
        (".common .global .b128 x;", {"space": "global", "type": "b128", "align": 16, "bytes": 16}),
        (
            ".extern .shared .align 16 .b8 x[];",
            {"space": "shared", "type": "b8", "align": 16, "bytes": 0, "extern": 1},
        ),
        (
            ".visible .global .attribute(.managed) .align 4 .u32 x = 7;",
            {"space": "global", "type": "u32", "align": 4, "bytes": 4, "managed": 1, "init": [7, 0, 0, 0]},
        ),
        (
            ".global .attribute(.unified(19, 0x5f)) .u8 x;",
            {"space": "global", "type": "u8", "align": 1, "bytes": 1},
        ),
    ],
)
def test_variable_declarations(ptx, declaration, expected):
    assert variables_of(ptx, declaration) == {"x": {"name": "x", **expected}}


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (".global .u32 x = 5;", struct.pack("<I", 5)),
        (".global .u16 x = -3;", struct.pack("<h", -3)),
        (".global .u32 x[4] = {1, 2};", struct.pack("<4I", 1, 2, 0, 0)),
        (".global .u32 x[4] = {};", bytes(16)),
        (".global .u32 x[] = {1, 2, 3};", struct.pack("<3I", 1, 2, 3)),
        (".global .u32 x[2][3] = {{1}, {2, 3}};", struct.pack("<6I", 1, 0, 0, 2, 3, 0)),
        (".global .u32 x[][2] = {{1, 2}, {3}};", struct.pack("<4I", 1, 2, 3, 0)),
        (".global .v2 .u16 x[2] = {{1, 2}, {3, 4}};", struct.pack("<4H", 1, 2, 3, 4)),
        (".const .f32 x[] = {0.5, -1.5, 0f3F800000, 25e-2};", struct.pack("<4f", 0.5, -1.5, 1, 0.25)),
        (".const .f64 x[] = {0.1, -0d3FF8000000000000};", struct.pack("<2d", 0.1, -1.5)),
        (".const .f32 x = 0d3FF8000000000000;", struct.pack("<f", 1.5)),
        (".const .b64 x = 1.5;", struct.pack("<d", 1.5)),
        (".global .u64 x = 0xFFFFFFFFFFFFFFFF;", b"\xff" * 8),
        (
            ".global .u32 x = (1 + 2) * 4 - 0x10 / 8 | 1 << 6;",
            struct.pack("<I", (1 + 2) * 4 - 0x10 // 8 | 1 << 6),
        ),
    ],
)
def test_initial_values(ptx, declaration, expected):
    variable = variables_of(ptx, declaration)["x"]
    assert bytes(variable["init"]) == expected
    assert variable["bytes"] == len(expected)


INTEGER_FORMATS = {"u8": "B", "s8": "b", "b16": "H", "s32": "i", "u32": "I", "u64": "Q", "s64": "q"}


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=SLOW_IS_FINE)
def test_any_array_of_integers_is_stored_as_written(ptx, data):
    name = data.draw(st.sampled_from(sorted(INTEGER_FORMATS)))
    code = INTEGER_FORMATS[name]
    bits = 8 * struct.calcsize(f"<{code}")
    low = -(1 << bits - 1) if code.islower() else 0
    values = data.draw(st.lists(st.integers(low, low + (1 << bits) - 1), min_size=1, max_size=20))
    size = data.draw(st.integers(len(values), len(values) + 5))
    written = ", ".join(data.draw(st.sampled_from([str(v), hex(v), f"({v})"])) for v in values)
    variable = variables_of(ptx, f".global .{name} x[{size}] = {{{written}}};")["x"]
    expected = struct.pack(f"<{len(values)}{code}", *values)
    assert bytes(variable["init"]) == expected.ljust(size * bits // 8, b"\0")


def test_addresses_in_initial_values_become_relocations(ptx):
    text = ".func f(); .global .u32 a[4]; .global .u64 x[5] = {generic(a)+4, 7, a+-8, generic(a), f};"
    variable = variables_of(ptx, text)["x"]
    assert variable["relocations"] == [
        {"offset": 0, "symbol": "a", "addend": 4, "generic": 1},
        {"offset": 16, "symbol": "a", "addend": -8, "generic": 0},
        {"offset": 24, "symbol": "a", "addend": 0, "generic": 1},
        {"offset": 32, "symbol": "f", "addend": 0, "generic": 0},
    ]
    assert bytes(variable["init"]) == struct.pack("<5Q", 0, 7, 0, 0, 0)


def test_extern_variable_and_its_definition_are_one(ptx):
    variables = ptx.module(HEADER + ".extern .global .u32 x; .global .u32 y; .global .u32 x = 3;")[
        "variables"
    ]
    assert [(v["name"], v.get("extern", 0)) for v in variables] == [("x", 0), ("y", 0)]
    assert variables[0]["init"] == [3, 0, 0, 0]


def test_declaration_and_definition_of_a_function_are_one(ptx):
    text = """.func (.param .b32 r) f(.param .b32 a);
    .func g() { ret; }
    .func (.param .b32 r) f(.param .b32 b) { ret; }"""
    functions = ptx.module(HEADER + text)["functions"]
    assert [(f["name"], f["declaration"], len(f["body"])) for f in functions] == [("f", 0, 1), ("g", 0, 1)]
    assert functions[0]["params"][0]["name"] == "b"


def test_function_that_is_never_defined_stays_a_declaration(ptx):
    text = """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
    .extern .func stop() .noreturn;"""
    functions = functions_of(ptx, text)
    assert functions["vprintf"]["declaration"] == 1
    assert [p["bytes"] for p in functions["vprintf"]["params"]] == [8, 8]
    assert functions["stop"]["noreturn"] == 1


def test_parameters_and_their_attributes(ptx):
    text = """.visible .entry k(
        .param .u64 .ptr .global .align 8 a, .param .align 8 .b8 b[80], .param .u64 .ptr c, .param .f32 d)
        { ret; }"""
    params = functions_of(ptx, text)["k"]["params"]
    assert [(p["name"], p["type"], p["bytes"], p["align"]) for p in params] == [
        ("a", "u64", 8, 8),
        ("b", "b8", 80, 8),
        ("c", "u64", 8, 8),
        ("d", "f32", 4, 4),
    ]


def test_performance_directives(ptx):
    text = """
    .entry a() .maxntid 128, 2 .minnctapersm 3 .maxnreg 64 .pragma "nounroll"; { ret; }
    .entry b() .reqntid 32, 4, 1 .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
    .entry c() .maxntid 256 .maxclusterrank 4 { ret; }"""
    functions = functions_of(ptx, text)
    a, b, c = (functions[name] for name in "abc")
    assert (a["max_threads"], a["min_blocks"], a["max_registers"], a["entry"]) == (256, 3, 64, 1)
    assert (b["required_threads"], b["required_cluster"]) == ([32, 4, 1], [2, 1, 1])
    assert (c["max_threads"], c["required_threads"]) == (256, [0, 0, 0])


def test_alias_stands_for_its_function(ptx):
    text = """.func alias(.param .b32 x); .func real(.param .b32 x) { ret; }
    .global .u64 table = alias;
    .entry k() { .reg .b64 %rd<2>; .param .b32 p; mov.u64 %rd1, alias; call alias, (p); ret; }
    .func shadow(.param .b64 alias) { .reg .b64 %rd<2>; mov.u64 %rd1, alias; ret; }
    .alias alias, real;"""
    module = ptx.module(HEADER + text)
    names = [f["name"] for f in module["functions"]]
    assert names == ["real", "k", "shadow"]
    kernel = module["functions"][1]["body"]
    assert [kernel[0]["operands"][1]["name"], kernel[1]["operands"][0]["name"]] == ["real", "real"]
    assert module["functions"][2]["body"][0]["operands"][1]["name"] == "alias"
    assert module["variables"][0]["relocations"][0]["symbol"] == "real"


def chain(module: dict[str, Any], index: int) -> list[tuple[int, int, int, str]]:
    places = []
    while index:
        loc = module["locs"][index]
        places.append((loc["file"], loc["line"], loc["column"], loc["function"]))
        index = loc["inlined_at"]
    return places


def test_locations_follow_the_chain_of_inlined_calls(ptx, grammar):
    module = ptx.module(grammar)
    kernel = next(f for f in module["functions"] if f["name"] == "kernel")
    assert module["files"] == ["", "/src/kernel.cu", "/src/helper functions.cuh"]
    assert chain(module, kernel["loc"]) == [(1, 12, 0, "")]
    by_opcode = {i["opcode"]: chain(module, i["loc"]) for i in kernel["body"]}
    assert by_opcode["ld.global.nc.L2::128B.v4.u32"] == [(2, 100, 3, "_Z3addii"), (1, 20, 5, "")]
    assert by_opcode["ld.global.L2::cache_hint.u32"] == [
        (2, 200, 4, "sub"),
        (2, 100, 3, "_Z3addii"),
        (1, 20, 5, ""),
    ]


def test_call_site_is_the_latest_location_with_that_place(ptx):
    text = """.entry k() {
    .loc 1 10 1
    .loc 1 5 2, function_name $S, inlined_at 1 10 1
    add;
    .loc 1 20 1
    .loc 1 5 2, function_name $S, inlined_at 1 20 1
    .loc 1 7 3, function_name $S, inlined_at 1 5 2
    sub;
    .loc 1 5 2
    .loc 1 7 3, function_name $S, inlined_at 1 99 9
    ret; }
    .file 1 "k.cu"
    .section .debug_str { $S: .b8 102, 0 }"""
    module = ptx.module(HEADER + text)
    body = module["functions"][0]["body"]
    assert [chain(module, i["loc"]) for i in body] == [
        [(1, 5, 2, "f"), (1, 10, 1, "")],
        [(1, 7, 3, "f"), (1, 5, 2, "f"), (1, 20, 1, "")],
        [(1, 7, 3, "f"), (1, 99, 9, "")],
    ]


def test_equal_locations_are_stored_once(ptx):
    module = ptx.module(HEADER + '.entry k() { .loc 1 3 4\nadd;\n.loc 1 3 4\nsub; } .file 1 "a"')
    assert len(module["locs"]) == 2


def test_location_in_an_undeclared_file_can_still_be_looked_up(ptx):
    assert ptx.module(HEADER + ".entry k() { .loc 3 1 1\nret; }")["files"] == ["", "", "", ""]
