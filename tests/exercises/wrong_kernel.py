"""A mistake that students make, as an edit of an exercise's solution, and how it must be reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


def edited(source: str, edits: Iterable[tuple[str, str]]) -> str:
    """The source with each old text, which must be there once, replaced by its new one."""
    for old, new in edits:
        assert source.count(old) == 1, f"the source has {source.count(old)} of {old!r}"
        source = source.replace(old, new)
    return source


@dataclass(frozen=True)
class Wrong:
    """`line` is text of the line that a finding of the `kind` must name, `words` are part of what the student
    reads."""

    old: str
    new: str
    more: tuple[tuple[str, str], ...] = ()  # further edits that belong to it
    part: str = "correct"
    reason: str = "mismatch"
    kind: str = "memory"
    line: str = ""
    words: str = ""

    def source(self, solution: str) -> str:
        return edited(solution, ((self.old, self.new), *self.more))

    def line_number(self, solution: str) -> int:
        found = [n for n, line in enumerate(self.source(solution).splitlines(), 1) if self.line in line]
        assert len(found) == 1, f"{len(found)} lines have {self.line!r}"
        return found[0]
