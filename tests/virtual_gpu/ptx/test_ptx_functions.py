"""Inside a function: registers and their scopes, labels, variables, calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
CALLEES = ".func (.param .b32 r) f(.param .b32 a);\n.func g(.param .b32 a);\n.func h();\n"


def kernel(ptx, body: str) -> dict[str, Any]:
    functions = ptx.module(f"{HEADER}{CALLEES}.entry k(.param .u64 in) {{\n{body}\n}}")["functions"]
    found: dict[str, Any] = functions[-1]
    return found


def written(function: dict[str, Any]) -> list[str]:
    """The register each instruction writes, as name and type."""
    return [function["regs"][i["operands"][0]["reg"]] for i in function["body"]]


def test_only_registers_in_use_are_kept(ptx):
    function = kernel(
        ptx, ".reg .b32 %r<45>; .reg .b64 %SP, %SPL; .reg .pred p; mov.u32 %r7, %r3; mov.u64 %SP, 0;"
    )
    assert function["regs"] == ["%r7 b32", "%r3 b32", "%SP b64"]


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        ("pred", "pred"),
        ("b8", "b8"),
        ("u16", "u16"),
        ("s64", "s64"),
        ("f16", "f16"),
        ("f16x2", "b32"),
        ("b128", "b128"),
    ],
)
def test_register_types(ptx, declared, shown):
    assert kernel(ptx, f".reg .{declared} x; any x;")["regs"] == [f"x {shown}"]


def test_inner_register_hides_the_outer_one_until_its_scope_ends(ptx):
    function = kernel(
        ptx,
        """.reg .b32 t; .reg .b32 %r<10>;
        mov.u32 t, 0;
        { .reg .f32 t; mov.u32 t, 1; { .reg .b64 t; mov.u32 t, 2; } mov.u32 t, 3; }
        { .reg .b16 t; mov.u32 t, 4; }
        mov.u32 t, 5;
        { .reg .b64 %r<3>; mov.u32 %r2, 6; mov.u32 %r3, 7; }
        mov.u32 %r2, 8;
        { .reg .f64 %r2; mov.u32 %r2, 9; mov.u32 %r1, 10; }""",
    )
    types = [register.split()[1] for register in written(function)]
    assert types == ["b32", "f32", "b64", "f32", "b16", "b32", "b64", "b32", "b32", "f64", "b32"]
    indices = [i["operands"][0]["reg"] for i in function["body"]]
    assert indices[0] == indices[5]
    assert indices[1] == indices[3]
    assert len({indices[i] for i in (0, 1, 2, 4)}) == 4
    assert indices[6] != indices[8]


@given(shape=st.recursive(st.just("use"), lambda inner: st.lists(inner, max_size=4), max_leaves=25))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_nested_scopes_behave_like_a_stack_of_dictionaries(ptx, shape):
    """Every scope declares its own `t` with a type that tells its number; a use must find the innermost."""
    widths = ["b16", "b32", "b64", "f32", "f64", "u16", "u32", "u64"]
    text, expected, count = [], [], 0

    def write(node: Any, current: int) -> None:
        nonlocal count
        if node == "use":
            text.append("mov.u32 t, 0;")
            expected.append(current)
            return
        count += 1
        mine = count
        text.append(f"{{ .reg .{widths[mine % len(widths)]} t;")
        for child in node:
            write(child, mine)
        text.append("}")

    write([shape], 0)
    function = kernel(ptx, "\n".join(text))
    seen: dict[int, int] = {}
    for scope, instruction in zip(expected, function["body"], strict=True):
        register = instruction["operands"][0]["reg"]
        assert seen.setdefault(scope, register) == register
        assert function["regs"][register] == f"t {widths[scope % len(widths)]}"
    assert len(set(seen.values())) == len(seen)


def test_labels_point_at_the_next_instruction(ptx):
    function = kernel(ptx, "A: B: add; C: sub; bra A; D:")
    assert function["labels"] == {"A": 0, "B": 0, "C": 1, "D": 3}


def test_labels_belong_to_their_scope(ptx):
    function = kernel(
        ptx,
        """{ WAIT: bra END; bra WAIT; END: }
        { WAIT: bra END; bra WAIT; END: }
        A: { bra A; A: bra A; bra OUT; }
        bra A;
        OUT: ret;""",
    )
    targets = [i["operands"][0]["name"] for i in function["body"] if i["opcode"] == "bra"]
    assert targets == ["END", "WAIT", "END#2", "WAIT#2", "A#2", "A#2", "OUT", "A"]
    assert function["labels"] == {"WAIT": 0, "END": 2, "WAIT#2": 2, "END#2": 4, "A": 4, "A#2": 5, "OUT": 8}


def test_indirect_branch(ptx):
    function = kernel(
        ptx,
        """.reg .b32 %r<2>;
        T: .branchtargets A, B; brx.idx %r1, T;
        { T: .branchtargets B; brx.idx.uni %r1, T; B: add; }
        A: B: ret;""",
    )
    # The inner B comes first, so it keeps the plain name and the outer one gets another.
    assert function["labels"] == {"B": 2, "A": 3, "B#2": 3}
    assert function["branch_targets"] == {"T": ["A", "B#2"], "T#2": ["B"]}
    assert [i["operands"][1]["name"] for i in function["body"][:2]] == ["T", "T#2"]


def test_call_parameters_of_equal_name_are_distinguished(ptx):
    function = kernel(
        ptx,
        """.reg .b32 %r<3>;
        { .param .b32 param0; .param .b32 retval0; st.param.b32 [param0+0], %r1;
          call.uni (retval0), f, (param0); ld.param.b32 %r2, [retval0]; }
        { .param .align 8 .b8 param0[16]; st.param.b64 [param0+8], 1; call.uni g, (param0); }""",
    )
    assert [(v["name"], v["bytes"]) for v in function["variables"]] == [
        ("param0", 4),
        ("retval0", 4),
        ("param0#2", 16),
    ]
    assert function["calls"] == [
        {"returns": ["retval0"], "arguments": ["param0"], "prototype": ""},
        {"returns": [], "arguments": ["param0#2"], "prototype": ""},
    ]
    stores = [i["operands"][0] for i in function["body"] if i["opcode"].startswith("st")]
    assert stores == [
        {"kind": "address", "name": "param0"},
        {"kind": "address", "name": "param0#2", "value": 8},
    ]


def test_local_variable_is_distinguished_from_a_module_variable(ptx):
    text = """.global .u32 x;
    .entry k() { .reg .b64 %rd<2>; { .shared .u32 x[2]; mov.u64 %rd1, x; } mov.u64 %rd1, x; }"""
    function = ptx.module(HEADER + text)["functions"][0]
    assert [v["name"] for v in function["variables"]] == ["x#2"]
    assert [i["operands"][1]["name"] for i in function["body"]] == ["x#2", "x"]


@pytest.mark.parametrize(
    ("call", "callee", "expected"),
    [
        ("call.uni (r0), f, (p0);", {"kind": "symbol", "name": "f"}, (["r0"], ["p0"], "")),
        ("call.uni g, (p0);", {"kind": "symbol", "name": "g"}, ([], ["p0"], "")),
        ("call h;", {"kind": "symbol", "name": "h"}, ([], [], "")),
        ("call h, ();", {"kind": "symbol", "name": "h"}, ([], [], "")),
        ("call (r0), %rd1, (p0), proto;", {"kind": "reg", "reg": 0}, (["r0"], ["p0"], "proto")),
        ("call %rd1, proto;", {"kind": "reg", "reg": 0}, ([], [], "proto")),
        ("call\n(\nr0\n)\n,\nf\n,\n(\np0\n)\n;", {"kind": "symbol", "name": "f"}, (["r0"], ["p0"], "")),
    ],
)
def test_call_forms(ptx, call, callee, expected):
    function = kernel(
        ptx,
        f""".reg .b64 %rd<2>; .param .b32 p0; .param .b32 r0;
        proto : .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[24]) .noreturn;
        {call}""",
    )
    (instruction,) = function["body"]
    assert instruction["operands"] == [callee]
    assert instruction["call"] == 0
    assert function["calls"] == [dict(zip(("returns", "arguments", "prototype"), expected, strict=True))]
    (prototype,) = function["prototypes"]
    assert [p["bytes"] for p in prototype["returns"]] == [4]
    assert [p["bytes"] for p in prototype["params"]] == [24]


def test_guards(ptx):
    function = kernel(ptx, ".reg .pred p, %p<3>; @p add; @!%p1 call h; @ ! %p2 bra X; X: ret;")
    names = [function["regs"][i["guard"]] if "guard" in i else None for i in function["body"]]
    assert names == ["p pred", "%p1 pred", "%p2 pred", None]
    assert [i.get("guard_negated", 0) for i in function["body"]] == [0, 1, 1, 0]


def test_recursion_sees_its_own_function(ptx):
    text = ".func (.param .b32 r) again(.param .b32 a) { .param .b32 x; call (x), again, (a); ret; }"
    assert ptx.module(HEADER + text)["functions"][0]["calls"][0]["arguments"] == ["a"]
