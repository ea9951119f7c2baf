"""Malformed and unsupported PTX: one sentence with the line and what was expected, never a wrong module."""

from __future__ import annotations

import pytest

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
BODY_LINE = 6

MODULE_ERRORS = {
    "empty": ("", "expected '.version'"),
    "no version": (".target sm_90\n", "expected '.version'"),
    "bad version": (".version nine\n", "expected a version such as 9.0, found 'nine'"),
    "no target": (".version 9.0\n.address_size 64\n", "expected a '.target' directive"),
    "odd target": (".version 9.0\n.target debug\n", "expected a target such as sm_90"),
    "32-bit": (".version 9.0\n.target sm_90\n.address_size 32\n", "only '.address_size 64' is supported"),
    "stray word": (HEADER + "hello", "expected a directive such as .entry or .global, found 'hello'"),
    "unknown directive": (HEADER + ".frobnicate 3;", "expected a module statement"),
    "open comment": (HEADER + "/* never closed", "expected '*/'"),
    "open string": (HEADER + '.file 1 "a.cu\n', "expected '\"'"),
    "stray character": (HEADER + "`", "unexpected character '`'"),
    "texture": (HEADER + ".global .texref t;", "a variable cannot have type '.texref'"),
    "local at module scope": (HEADER + ".local .u32 x;", "'.local' variables at module scope"),
    "unknown attribute": (
        HEADER + ".global .attribute(.magic) .u32 x;",
        "attribute '.magic' is not supported",
    ),
    "odd alignment": (HEADER + ".global .align 3 .u32 x;", "expected a power of two"),
    "zero array": (HEADER + ".global .u32 x[0];", "zero elements"),
    "huge array": (HEADER + ".global .u32 x[4294967296][4294967296];", "larger than any memory"),
    "open dimension": (HEADER + ".global .u32 x[];", "needs a size or initial values"),
    "inner open dimension": (HEADER + ".global .u32 x[2][];", "only the first dimension"),
    "many dimensions": (HEADER + ".global .u32 x" + "[1]" * 17 + ";", "more than 16 array dimensions"),
    "defined twice": (HEADER + ".global .u32 x;\n.global .u32 x;", "'x' is defined twice"),
    "two spaces": (HEADER + ".extern .global .u32 x;\n.const .u32 x;", "two state spaces"),
    "variable and function": (HEADER + ".global .u32 x;\n.func x();", "already the name of a variable"),
    "function and variable": (HEADER + ".func x();\n.global .u32 x;", "already the name of a function"),
    "too many values": (HEADER + ".global .u32 x[2] = {1, 2, 3};", "more initial values than the 2 elements"),
    "flat values": (HEADER + ".global .u32 x[2][2] = {1, 2};", "expected '{'"),
    "value without braces": (HEADER + ".global .u32 x[2] = 1;", "expected '{'"),
    "trailing comma": (HEADER + ".global .u32 x[2] = {1,};", "expected a constant"),
    "too wide": (HEADER + ".global .u8 x = 256;", "does not fit in the 8 bits"),
    "too negative": (HEADER + ".global .s8 x = -129;", "does not fit in the 8 bits"),
    "integer for a float": (HEADER + ".global .f32 x = 1;", "expected a floating-point initial value"),
    "float for an integer": (HEADER + ".global .u32 x = 1.5;", "expected an integer initial value"),
    "half": (HEADER + ".global .f16 x = 1.5;", ".f16 cannot have an initial value"),
    "wide integer": (HEADER + ".global .b128 x = 1;", "128-bit"),
    "masked address": (HEADER + ".global .u32 y; .global .u8 x[2] = {0xff(y), 0};", "masked address"),
    "narrow address": (HEADER + ".global .u32 y; .global .u32 x = y;", "needs a 64-bit integer type"),
    "unknown symbol": (HEADER + ".global .u64 x = y;", "'y', which is not declared"),
    "initialised shared": (HEADER + ".shared .u32 x = 1;", "a .shared variable cannot have"),
    "initialised extern": (HEADER + ".extern .global .u32 x = 1;", "an .extern variable cannot have"),
    "enormous initial value": (HEADER + ".global .u8 x[300000000] = {1};", "exceed 256 MiB"),
    "enormous open array": (
        HEADER + ".global .u8 x[][200000000] = {{1}, {2}, {3}};",
        "exceed 256 MiB",
    ),
    "register parameter": (HEADER + ".func f(.reg .b32 a) { ret; }", "parameters in registers (.reg)"),
    "entry that returns": (
        HEADER + ".entry (.param .b32 r) f() { ret; }",
        "an .entry function returns nothing",
    ),
    "two bodies": (HEADER + ".func f() { ret; }\n.func f() { ret; }", "'f' is defined twice"),
    "other parameters": (
        HEADER + ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }",
        "does not match its declaration at PTX line 4",
    ),
    "unknown function directive": (
        HEADER + ".entry f() .sparkle 3 { ret; }",
        "directive '.sparkle' is not supported",
    ),
    "too many threads": (HEADER + ".entry f() .maxntid 65536, 65536 { ret; }", "more threads than fit"),
    "huge number": (HEADER + ".entry f() .maxnreg 4294967296 { ret; }", "is too large for"),
    "alias of a declaration": (HEADER + ".func a(); .func b(); .alias a, b;", "'b' is only declared"),
    "alias of nothing": (HEADER + ".func a(); .alias a, b;", "expected a function declared above .alias"),
    "alias that is defined": (
        HEADER + ".func a() { ret; } .func b() { ret; } .alias a, b;",
        "itself defined",
    ),
    "alias twice": (
        HEADER + ".func a(); .func b() { ret; } .alias a, b; .alias a, b;",
        "is an alias already",
    ),
    "file number": (HEADER + '.file 70000 "x"', "is too large for a file number"),
    "section data": (HEADER + ".section .debug_x { .f32 1.0 }", "expected .b8, .b16, .b32 or .b64"),
    "unknown name string": (
        HEADER + ".entry f() { .loc 1 1 1, function_name $L, inlined_at 1 2 3\nret; }",
        "'$L', which is no label of section .debug_str",
    ),
    "name string out of range": (
        HEADER
        + ".entry f() { .loc 1 1 1, function_name $L+9, inlined_at 1 2 3\nret; }"
        + ".section .debug_str { $L: .b8 0 }",
        "past the end",
    ),
    "open function": (HEADER + ".entry f() { ret;", "expected '}' to close function 'f'"),
}

BODY_ERRORS = {
    "unknown register": ("mov.u32 %r9, 0;", "'%r9' is no register, variable or function"),
    "second spelling": ("mov.u32 %r01, 0;", "'%r01' is no register"),
    "register of a closed scope": ("{ .reg .b32 t; } mov.u32 t, 0;", "'t' is no register"),
    "selector": ("vadd.u32 %r1, %r2.b0, %r3;", "'%r2.b0' is no register"),
    "unknown special": ("mov.u32 %r1, %tid.q;", "'%tid.q' is no register"),
    "huge range": (".reg .b32 %x<4000000000>;", "'%x<4000000000>' is too large"),
    "many ranges": (".reg .b32 %x<1000000>, %y<1000000>;", "is too large"),
    "vector register": (".reg .v2 .b32 v;", "registers of type '.v2' are not supported"),
    "declared twice": (".reg .b32 a; .reg .b64 a;", "'a' is declared twice"),
    "range twice": (".reg .b32 %r<2>;", "'%r' is declared twice"),
    "in a range": (".reg .b64 %r1;", "'%r1' is declared twice"),
    "register and variable": (".reg .b32 a; .shared .u32 a;", "'a' is declared twice"),
    "hides a parameter": (".reg .b32 param;", "'param' is declared twice"),
    "dotted name": (".reg .b32 a.b;", "expected the name of a register, found 'a.b'"),
    "global in a function": (".global .u32 x;", "'.global' variables inside a function are not supported"),
    "initialised local": (".local .u32 x = 1;", "inside a function cannot have an initial value"),
    "unsized local": (".local .u32 x[];", "needs a size"),
    "unknown directive": (".maxntid 3;", "'.maxntid' is not supported inside a function"),
    "missing semicolon": ("mov.u32 %r1, %r2\nret;", "expected ';' after the operands, found 'ret'"),
    "empty statement": (";", "expected an instruction, a label, a declaration or '}', found ';'"),
    "empty operand": ("mov.u32 %r1, ;", "expected an operand, found ';'"),
    "empty vector": ("mov.b64 %rd1, {};", "expected an operand, found '}'"),
    "nested vector": ("mov.b64 %rd1, {{%r1, %r2}};", "expected an operand, found '{'"),
    "open address": ("ld.u32 %r1, [%rd1;", "expected ']' after an address, found ';'"),
    "register offset": ("ld.u32 %r1, [%rd1+%rd2];", "a second register or symbol ('%rd2') is not supported"),
    "symbol offset": ("ld.u32 %r1, [param+%r1];", "a second register or symbol ('%r1') is not supported"),
    "float offset": ("ld.u32 %r1, [%rd1+1.5];", "expected an integer for the offset of an address"),
    "address of a special": ("ld.u32 %r1, [%tid.x];", "'%tid.x' is no register"),
    "pair of numbers": ("setp.eq.u32 %p1|3, %r1, %r2;", "expected registers (or _) on both sides of '|'"),
    "guard": ("@%r1 ret;", "expected a predicate register, found '%r1'"),
    "negated number": ("mov.pred %p1, !%r1;", "expected a predicate register, found '%r1'"),
    "hex without digits": ("mov.u32 %r1, 0x;", "expected digits after '0x'"),
    "number with a tail": ("mov.u32 %r1, 12ab;", "malformed number '12ab'"),
    "octal": ("mov.u32 %r1, 08;", "malformed number '08'"),
    "65 bits": ("mov.u64 %rd1, 18446744073709551616;", "does not fit in 64 bits"),
    "short float": ("mov.f32 %r1, 0f3F80;", "expected 8 hexadecimal digits after '0f', found 4"),
    "long float": ("mov.f32 %r1, 0f3F8000001;", "malformed number '0f3F8000001'"),
    "huge decimal": ("mov.f64 %rd1, 1e999;", "does not fit in a double"),
    "float arithmetic": (
        "mov.f32 %r1, 1.0 + 2.0;",
        "arithmetic on floating-point constants is not supported",
    ),
    "division by zero": ("mov.u32 %r1, 1 / 0;", "division by zero"),
    "open parenthesis": ("mov.u32 %r1, (1 + 2;", "expected ')'"),
    "unknown label": ("bra NOWHERE;", "nothing named 'NOWHERE' is declared"),
    "label of an inner scope": ("bra IN; { IN: ret; }", "nothing named 'IN' is declared"),
    "label twice": ("A: A: ret;", "label 'A' is declared twice"),
    "branch to a list": (
        "A: T: .branchtargets A; bra T;",
        "expected a label, but 'T' is a .branchtargets list",
    ),
    "table that is a label": ("A: brx.idx %r1, A;", "expected a .branchtargets list, but 'A' is a label"),
    "call targets": ("T: .calltargets f;", "'.calltargets' is not supported"),
    "unknown callee": ("call nobody;", "expected a function declared above this call"),
    "indirect call without a prototype": ("call %rd1;", "expected the label of a .callprototype"),
    "call with a register": ("call f, (%r1);", "register '%r1' as a call parameter is not supported"),
    "call with a number": ("call f, (3);", "expected the name of a .param variable, found '3'"),
    "call with a shared variable": (".shared .u32 s; call f, (s);", "expected a .param variable, found 's'"),
    "too few arguments": ("call f;", "'f' takes 1 parameter, but the call passes 0"),
    "too many results": (".param .b32 p; call (p), f, (p);", "'f' returns 0 values, but the call takes 1"),
    "prototype directive": (
        "P: .callprototype _ () .fast;",
        "directive '.fast' is not supported in a call prototype",
    ),
    "location without a column": (".loc 1 2\nret;", "expected a column, found 'ret'"),
    "location attribute": (
        ".loc 1 2 3, twisted 3\nret;",
        "expected function_name or inlined_at, found 'twisted'",
    ),
    "deep scopes": ("{" * 201, "scopes nested more than 200 deep"),
    "deep parentheses": ("mov.u32 %r1, " + "(" * 100 + "1", "nested more than 64 deep"),
    "deep signs": ("mov.u32 %r1, " + "-" * 100 + "1", "nested more than 64 deep"),
}


@pytest.mark.parametrize("name", MODULE_ERRORS)
def test_module_errors_say_what_was_expected(ptx, name):
    text, expected = MODULE_ERRORS[name]
    message = ptx.error(text)
    assert message.startswith("PTX line ")
    assert expected in message


@pytest.mark.parametrize("name", BODY_ERRORS)
def test_function_errors_say_what_was_expected_and_where(ptx, name):
    body, expected = BODY_ERRORS[name]
    declarations = ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;"
    text = f"{HEADER}.func f(.param .b32 x);\n.entry k(.param .u64 param) {{ {declarations}\n{body}\n}}\n"
    message = ptx.error(text)
    assert expected in message
    line = int(message.removeprefix("PTX line ").partition(":")[0])
    assert BODY_LINE <= line <= BODY_LINE + body.count("\n") + 1


def test_error_names_the_line_of_the_fault(ptx, grammar):
    lines = grammar.splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "shl.b32" in line)
    lines[number - 1] = lines[number - 1].replace("%r2", "%r77")
    assert ptx.error("\n".join(lines)).startswith(f"PTX line {number}: '%r77' is no register")


def test_messages_are_short_and_printable(ptx):
    message = ptx.error(HEADER + "x" * 5000)
    assert len(message) < 200
    message = ptx.error(HEADER + ".file 1 \x01\x1b[31m")
    assert message.isprintable()
