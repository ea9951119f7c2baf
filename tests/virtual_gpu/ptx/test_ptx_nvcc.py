"""Everything nvcc emits for the CUDA samples parses, and agrees with an independent reading of the text."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

# The text without what is no statement of a function, and with braces that group statements turned into cuts.
CUTS = [
    (re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL), " "),
    (re.compile(r'"[^"]*"'), " "),
    (re.compile(r"\.(loc|file|version|target|address_size)\b[^\n]*"), ";"),
    (re.compile(r"\.section\s+\S+\s*\{[^}]*\}"), ";"),
    (re.compile(r"=[^;]*;"), ";"),  # initial values
    (re.compile(r"\{[^{};:]*\}"), "vector"),  # braces without a statement inside
    (re.compile(r"[{}]"), ";"),
    (re.compile(r"(?<![:\w$.])([$%\w]+)\s*:(?!:)"), ";"),  # labels
]
INSTRUCTION = re.compile(r"\s*(?:@!?[%$\w]+\s+)?([a-z][\w.:]*)")


def opcodes_in_text(text: str) -> list[str]:
    """Opcodes in order, found by cutting the text into statements: no grammar, no scopes."""
    for pattern, replacement in CUTS:
        text = pattern.sub(replacement, text)
    return [match.group(1) for statement in text.split(";") if (match := INSTRUCTION.match(statement))]


def test_everything_parses_with_the_opcodes_of_the_text(ptx, nvcc_ptx):
    functions = sorted(ptx.module(nvcc_ptx)["functions"], key=lambda function: function["ptx_line"])
    parsed = [instruction["opcode"] for function in functions for instruction in function["body"]]
    assert len(parsed) > 50
    assert parsed == opcodes_in_text(nvcc_ptx)


@pytest.fixture(scope="session")
def language(ptx, language_ptx) -> dict[str, Any]:
    module: dict[str, Any] = ptx.module(language_ptx)
    return module


def variable(module: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(v for v in module["variables"] if v["name"] == name)
    return found


def function(module: dict[str, Any], part: str) -> dict[str, Any]:
    found: dict[str, Any] = next(f for f in module["functions"] if part in f["name"])
    return found


def test_initialised_arrays_hold_the_values_of_the_source(language):
    assert bytes(variable(language, "floats")["init"]) == struct.pack("<16f", 1, 2, 3.5, -4, *[0] * 12)
    assert bytes(variable(language, "matrix")["init"]) == struct.pack(
        "<12i", 1, 2, 0, 0, 3, 0, 0, 0, 4, 5, 6, 7
    )
    assert bytes(variable(language, "doubles")["init"]) == struct.pack("<2d", 1.5, -0.0)
    assert bytes(variable(language, "small")["init"]) == struct.pack("<h", -3)
    assert variable(language, "managed")["managed"] == 1
    assert variable(language, "dynamic")["extern"] == 1


def test_pointers_in_data_are_relocations(language):
    record = variable(language, "record")
    assert record["relocations"] == [{"offset": 16, "symbol": "numbers", "addend": 4, "generic": 1}]
    expected = struct.pack("<b3xid8x3f4x", 1, 2, 3.0, 1, 2, 3)
    assert bytes(record["init"]) == expected
    assert [r["symbol"] for r in variable(language, "table")["relocations"]] == ["_Z5twicef", "_Z5grownf"]


def test_calls_of_every_kind(language):
    kernel = function(language, "calls")
    callees = [i["operands"][0] for i in kernel["body"] if i["opcode"].startswith("call")]
    named = {callee.get("name") for callee in callees}
    assert {"_Z9fibonaccii", "malloc", "free"} <= named
    indirect = [call for call in kernel["calls"] if call["prototype"]]
    assert len(indirect) == sum(callee["kind"] == "reg" for callee in callees) == 2
    prototypes = {prototype["name"]: prototype for prototype in kernel["prototypes"]}
    for call in indirect:
        prototype = prototypes[call["prototype"]]
        assert len(prototype["params"]) == len(call["arguments"])
    assert function(language, "malloc")["declaration"] == 1
    names = [v["name"] for v in kernel["variables"]]
    assert len(set(names)) == len(names)


def test_launch_bounds_and_parameters(language):
    choices = function(language, "choices")
    assert (choices["max_threads"], choices["min_blocks"]) == (256, 2)
    by_value = function(language, "shared_and_params")
    assert by_value["max_registers"] == 64
    assert [p["bytes"] for p in by_value["params"]] == [80, 8, 80]


def test_instructions_lead_back_to_the_source(language):
    kernel = function(language, "fibonacci")
    files = {language["files"][language["locs"][i["loc"]]["file"]] for i in kernel["body"]}
    assert {name.rsplit("/", 1)[-1] for name in files} == {"language.cu"}
    inlined = [loc for loc in language["locs"] if loc["inlined_at"]]
    assert inlined
    assert all(
        loc["function"].startswith("_Z") and loc["inlined_at"] < len(language["locs"]) for loc in inlined
    )
