"""Damaged PTX: always a module or a ParseError, in bounded time and memory, under sanitizers."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.virtual_gpu.ptx.tokens import TOKEN

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
SLOW_IS_FINE = [HealthCheck.too_slow]


def assert_judged(verdicts: list[str]) -> None:
    assert [v for v in verdicts if v != "module" and not v.startswith("PTX line ")] == []


def test_every_truncation_of_the_grammar(ptx, grammar):
    text = grammar.encode()
    verdicts = ptx.verdicts(text[:length] for length in range(len(text)))
    assert_judged(verdicts)
    # Cut inside a function or a declaration, a module must not pass for a smaller one.
    body = range(text.index(b"{\n\t.local"), text.index(b"\tret;\n}\n\t.file"))
    assert all(verdicts[length] != "module" for length in body)


def test_truncations_of_what_nvcc_emits(ptx, nvcc_ptx):
    text = nvcc_ptx.encode()
    cuts = random.Random(1).sample(range(len(text)), min(60, len(text)))
    assert_judged(ptx.verdicts(text[:length] for length in cuts))


def mutate_bytes(text: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(text)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(damaged))
        match rng.randrange(4):
            case 0:
                damaged[at] = rng.randrange(256)
            case 1:
                damaged[at] = rng.choice(b'{}[]();:,.<>@!|%$-+0129fx"/*\0\n')
            case 2:
                del damaged[at : at + rng.randint(1, 20)]
            case _:
                start = rng.randrange(len(damaged))
                damaged[at:at] = damaged[start : start + rng.randint(1, 40)]
    return bytes(damaged)


def mutate_tokens(text: bytes, rng: random.Random) -> bytes:
    tokens = TOKEN.findall(text)
    for _ in range(rng.randint(1, 4)):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(4):
            case 0:
                tokens[at] = tokens[other]
            case 1:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 2:
                tokens[at] = b""
            case _:
                tokens[at] = rng.choice(
                    [
                        b"4294967295",
                        b"18446744073709551615",
                        b"-1",
                        b"0",
                        b"{",
                        b"}",
                        b".reg",
                        b".param",
                        b"_",
                        b"%r1",
                    ]
                )
    return b"".join(tokens)


@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_tokens])
def test_random_damage_to_the_grammar(ptx, grammar, mutate):
    rng = random.Random(7)
    verdicts = ptx.verdicts(mutate(grammar.encode(), rng) for _ in range(1500))
    assert_judged(verdicts)
    assert "module" in verdicts  # some damage is harmless: not everything is refused


@pytest.mark.parametrize("mutate", [mutate_bytes, mutate_tokens])
def test_random_damage_to_what_nvcc_emits(ptx, nvcc_ptx, mutate):
    rng = random.Random(11)
    assert_judged(ptx.verdicts(mutate(nvcc_ptx.encode(), rng) for _ in range(25)))


@given(parts=st.lists(st.one_of(st.binary(max_size=30), st.text(max_size=30).map(str.encode)), max_size=10))
@settings(max_examples=120, suppress_health_check=SLOW_IS_FINE)
def test_arbitrary_bytes(ptx, parts):
    noise = b" ".join(parts)
    in_function = HEADER.encode() + b".entry k() {\n" + noise + b"\n}"
    in_section = HEADER.encode() + b".section .debug_str { $L: " + noise + b"}"
    assert_judged(ptx.verdicts([noise, HEADER.encode() + noise, in_function, in_section]))


VOCABULARY = """.reg .param .shared .b32 .b8 .align .loc .entry .func .global .const .section .debug_str
.alias .extern k f %r1 %r %p1 p L: L bra call brx.idx ret ld.global.u32 T: .branchtargets .callprototype
_ { } ( ) [ ] , ; : < > = @ ! | + - ~ 0 1 64 0x 0f3F800000 1.5 "s" generic function_name
inlined_at $L""".split()


@given(words=st.lists(st.sampled_from(VOCABULARY), max_size=40))
@settings(max_examples=150, suppress_health_check=SLOW_IS_FINE)
def test_arbitrary_sequences_of_words(ptx, words):
    text = " ".join(words)
    texts = [f"{HEADER}{text}", f"{HEADER}.func f();\n.entry k() {{ .reg .b32 %r<4>; .reg .pred p; {text} }}"]
    assert_judged(ptx.verdicts(t.encode() for t in texts))


ENDLESS = {
    "braces": ".entry k() {" + "{" * 200_000,
    "balanced braces": ".entry k() {" + "{" * 199 + "}" * 199 + "}",
    "sibling scopes": ".entry k() {" + "{ .reg .b32 t; mov.u32 t, 0; }" * 20_000 + "}",
    "parentheses": ".global .u32 x = " + "(" * 200_000,
    "minus signs": ".global .u32 x = " + "-" * 200_000,
    "sum": ".global .u32 x = " + "1+" * 100_000 + "1;",
    "nested initialiser": ".global .u32 x[2] = " + "{" * 200_000,
    "dimensions": ".global .u32 x" + "[1]" * 100_000 + ";",
    "vector": ".entry k() { mov {" + "_," * 100_000 + "_}; }",
    "labels": ".entry k() {" + "".join(f"L{i}: bra L{20_000 - 1 - i};" for i in range(20_000)) + "}",
    "labels in scopes": ".entry k() {" + "{ L: bra L; bra OUT; }" * 20_000 + "OUT: }",
    "nested scopes with outer branches": ".entry k() {" + "{ A: bra OUT;" * 190 + "}" * 190 + "OUT: }",
    "one line": ".entry k() {" + "add; " * 100_000 + "}",
    "register ranges": ".entry k() {" + "".join(f".reg .b32 r{i}x<50>;" for i in range(20_000)) + "}",
    "aliases": "".join(f".func a{i}();" for i in range(5_000))
    + ".func f() {"
    + "call a7; " * 5_000
    + "}"
    + "".join(f".alias a{i}, f;" for i in range(5_000)),
    "long name": ".entry k() { .reg .b32 " + "x" * 500_000 + "; }",
    "same function name everywhere": ".entry k() {"
    + "".join(f".loc 1 {i} 1, function_name $S, inlined_at 1 1 1\nadd;" for i in range(5_000))
    + "} .section .debug_str { $S: .b8 "
    + ",".join(["65"] * 100_000)
    + "}",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_long_and_deep_input_ends_soon(ptx, name):
    assert_judged(ptx.verdicts([(HEADER + ENDLESS[name]).encode()], timeout=20))


def long_module(kernels: int) -> str:
    """Shaped like nvcc's output: about 25 KB for each kernel."""
    line = (
        "\t.loc\t1 {0} 5\n\tmad.lo.s32 \t%r{1}, %r{2}, %r3, -{0};\n"
        "\tld.global.nc.v2.f32 \t{{%f1, %f2}}, [%rd{1}+16];\n"
    )
    body = "".join(line.format(i % 97, i % 400, (i * 7) % 400) for i in range(300))
    text = [HEADER]
    for n in range(kernels):
        text.append(f".visible .entry kernel{n}(\n\t.param .u64 kernel{n}_param_0\n)\n{{\n")
        text.append("\t.reg .f32 \t%f<3>;\n\t.reg .b32 \t%r<400>;\n\t.reg .b64 \t%rd<400>;\n")
        text.append(f"{body}\tret;\n\n}}\n")
    return "".join(text)


def test_a_megabyte_takes_milliseconds(fast_ptx):
    text = long_module(40)
    assert len(text) > 1_000_000
    # Far above what it takes (about 20 ms), so that a busy machine does not fail it; 40x slower would.
    assert fast_ptx.milliseconds(text, 5) < 800


def test_time_grows_in_proportion_to_the_module(fast_ptx):
    small, large = (fast_ptx.milliseconds(long_module(kernels), 7) for kernels in (10, 80))
    assert large < 8 * small * 4
