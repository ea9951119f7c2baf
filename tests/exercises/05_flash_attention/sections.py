"""Many wrong kernels in one file, which saves most of the compiling: each is a section, the solution with one
mistake in a namespace of its own, cut down to the kernels that its cases run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tests.exercises.wrong_kernel import Wrong

WHOLE = "correct"
_FIRST_LINE_AFTER_INCLUDES = "namespace wmma = nvcuda::wmma;"
_FIRST_STEPS = ("// The state of a row after the keys so far.", "// ---- Steps 3 to 6")
_STEPS_ENTRIES = ("// The steps: half precision", "// All tensors are [batch]")
_WHOLES_ENTRY = ("// All tensors are [batch]", "")
_EITHER = "  return launch<__half, 64>(job, causal, stream);\n"
_NOT_CAUSAL = "  return launch<__half, 64, false, Swizzled>(job, PERSISTENT, stream);\n"
_WHOLES_CHOICE = ("  if (head_dim == 64)\n    return bfloat16", "}\n")


@dataclass(frozen=True)
class Asked:
    """What is called in a section, and whether with a causal mask too."""

    entry: str
    causal: bool


@dataclass(frozen=True)
class Section:
    """Where a wrong kernel begins in its file, and what its entry point is called there."""

    text: str
    first_line: int
    entry: str

    def line_number(self, text: str) -> int:
        found = [n for n, line in enumerate(self.text.splitlines()) if text in line]
        assert len(found) == 1, f"{len(found)} lines have {text!r}"
        return self.first_line + found[0]


@dataclass(frozen=True)
class File:
    text: str
    sections: Mapping[str, Section]


def cut_down(solution: str, part: str, entry: str, *, causal: bool) -> str:
    """What a part needs of the solution: of the whole, half precision and heads of 64."""
    _, _, body = solution.partition(_FIRST_LINE_AFTER_INCLUDES)
    if part == WHOLE:
        chosen = _EITHER if causal else _NOT_CAUSAL
        return _replaced(_replaced(_replaced(body, *_FIRST_STEPS), *_STEPS_ENTRIES), *_WHOLES_CHOICE, chosen)
    body = re.sub(rf"^STEP\((?!{entry}\b).*\n", "", _replaced(body, *_WHOLES_ENTRY), flags=re.MULTILINE)
    return body if f"STEP({entry}, launch_simple" in body else _replaced(body, *_FIRST_STEPS)


def _replaced(text: str, start: str, end: str, by: str = "") -> str:
    """Without what stands from `start` to `end`, which stays."""
    assert text.count(start) == 1, f"the solution has {text.count(start)} of {start!r}"
    head, _, tail = text.partition(start)
    return head + by + (end + tail.partition(end)[2] if end else "")


def file_of(solution: str, kernels: Mapping[str, Wrong], asked: Mapping[str, Asked]) -> File:
    """The solution with each of these mistakes, as often as there are mistakes."""
    includes, start, _ = solution.partition(_FIRST_LINE_AFTER_INCLUDES)
    text, sections = includes + start + "\n", {}
    for number, (name, wrong) in enumerate(kernels.items()):
        entry, causal = asked[name].entry, asked[name].causal
        body = wrong.source(cut_down(solution, wrong.part, entry, causal=causal))
        renamed = f"{entry}_{number}"
        body = re.sub(rf"\b{entry}\b", renamed, body)
        text += f"\nnamespace section_{number} {{\n"
        sections[name] = Section(body, text.count("\n") + 1, renamed)
        text += body + "}\n"
    return File(text, sections)
