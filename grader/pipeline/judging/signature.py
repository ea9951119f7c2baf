"""Does an entry point take what its caller passes? C linkage has no types to compare, so the source is read.

It only ever warns: a reader this simple may be mistaken.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from common.build.diagnostics import Diagnostic
from grader.building.comments import TOKEN
from grader.spec import Argument, Scalar

# A file may mention its entry point without end.
_MOST_MENTIONS = 100
_LONGEST = 4096  # characters of a list of parameters
# How a parameter of each type is passed; types with other names are skipped.
_KINDS = {
    "i32": re.compile(r"\b(?:int|int32_t|unsigned|uint32_t)\b"),
    "i64": re.compile(r"\b(?:int64_t|long|size_t|uint64_t|ptrdiff_t)\b"),
    "f32": re.compile(r"\bfloat\b"),
    "f64": re.compile(r"\bdouble\b"),
    "stream": re.compile(r"\bcudaStream_t\b"),
}
_SPELLED = {
    "i32": "an int",
    "i64": "an int64_t",
    "f32": "a float",
    "f64": "a double",
    "stream": "a cudaStream_t",
    "pointer": "a pointer",
}
_SAME = {"u32": "i32", "u64": "i64"}


def mismatch(source: Path, text: str, entry: str, arguments: Sequence[Argument]) -> Diagnostic | None:
    """A warning when `entry`, as `text` defines it, takes other arguments than a call passes."""
    code = TOKEN.sub(_code_alone, text)
    defined = re.compile(rf"\bint\s++{re.escape(entry)}\s*+\(")
    for found in itertools.islice(defined.finditer(code), _MOST_MENTIONS):
        parameters = _parameters(code, found.end())
        if parameters is None:
            continue
        wrong = _compared(entry, parameters, [_passed(argument) for argument in arguments])
        if wrong:
            line = code.count("\n", 0, found.start()) + 1
            hint = "compare it with the interface in the exercise's README.md: C does not check this for you"
            return Diagnostic("warning", str(source), line, None, wrong, hint)
        return None
    return None


def _code_alone(token: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", token[0]) if token["comment"] or token["text"] else token[0]


def _parameters(code: str, start: int) -> list[str] | None:
    """The parameters of a definition, from after its opening bracket; None for anything else."""
    depth, parts, end = 1, [""], start
    while depth and end < min(len(code), start + _LONGEST):
        char = code[end]
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 1:
            parts.append("")
        elif depth:
            parts[-1] += char
        end += 1
    if depth or not code[end:].lstrip().startswith("{"):
        return None
    return [] if [part.strip() for part in parts] in ([""], ["void"]) else [part.strip() for part in parts]


def _compared(entry: str, parameters: Sequence[str], passed: Sequence[str]) -> str:
    if len(parameters) != len(passed):
        return f"{entry} takes {len(parameters)} arguments, the caller passes {len(passed)}"
    for number, (parameter, given) in enumerate(zip(parameters, passed, strict=True), 1):
        taken = _taken(parameter)
        if taken is not None and taken != given:
            name = parameter.split()[-1].lstrip("*&")
            return (
                f"argument {number} of {entry}, {name}, is {_SPELLED[taken]} here, and the caller passes "
                f"{_SPELLED[given]}"
            )
    return ""


def _taken(parameter: str) -> str | None:
    if "*" in parameter or "[" in parameter:
        return "pointer"
    for kind in ("i64", "i32", "f32", "f64", "stream"):
        if _KINDS[kind].search(parameter):
            return kind
    return None


def _passed(argument: Argument) -> str:
    """Tables are passed by their address."""
    return _SAME.get(argument.type, argument.type) if isinstance(argument, Scalar) else "pointer"
