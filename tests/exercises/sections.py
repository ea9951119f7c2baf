"""Many wrong kernels in one file, which saves most of the compiling: each is a section, a whole source in a
namespace of its own, and is graded by the names that its entry points have there."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.spec import Exercise

_INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_ENTRY = re.compile(r'extern "C" int (\w+)\(')


@dataclass(frozen=True)
class Section:
    """Where a source begins in the file it became part of, and what its entry points end with there."""

    file: Path
    first_line: int
    suffix: str

    def line_number(self, number: int) -> int:
        """Of the line that has this number in the source."""
        return self.first_line + number - 1

    def of(self, exercise: Exercise, part: str | None = None) -> Exercise:
        """The exercise with this section's entry points; of its steps only `part`, where that is given. The
        baseline has none of them: speed stays out."""
        wanted = (step for step in exercise.steps if part in (None, step.name))
        steps = tuple(dataclasses.replace(step, entry=step.entry + self.suffix) for step in wanted)
        return dataclasses.replace(exercise, entry=exercise.entry + self.suffix, steps=steps)


def write_sections(sources: Mapping[str, str], file: Path) -> dict[str, Section]:
    """All sources in one file. What they include stands once, at the top; their macros end with them."""
    includes = dict.fromkeys(line for text in sources.values() for line in _INCLUDE.findall(text))
    joined, sections = "\n".join(includes) + "\n", {}
    for number, (name, text) in enumerate(sources.items()):
        body = _INCLUDE.sub("", text)
        for entry in set(_ENTRY.findall(body)):
            body = re.sub(rf"\b{entry}\b", f"{entry}_{number}", body)
        joined += f"\nnamespace section_{number} {{\n"
        sections[name] = Section(file, joined.count("\n") + 1, f"_{number}")
        joined += "\n".join([body, *(f"#undef {macro}" for macro in _MACRO.findall(body)), "}\n"])
    file.write_text(joined)
    return sections


def write_rounds(sources: Mapping[str, str], folder: Path, each: int) -> dict[str, Section]:
    """The sources by name, as many to a file as `each` says."""
    names = tuple(sources)
    sections: dict[str, Section] = {}
    for first in range(0, len(names), each):
        chosen = {name: sources[name] for name in names[first : first + each]}
        sections |= write_sections(chosen, folder / f"round_{first // each}.cu")
    return sections
