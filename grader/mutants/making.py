"""All mutants of a solution: one small edit inside one of its gaps each."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass

from grader.course.starters import gaps
from grader.mutants.rules import RULES, SWAPPED, Names, names_in, swapped_statements
from grader.mutants.tokens import Line


@dataclass(frozen=True)
class Mutant:
    """`before` and `after` are the lines of the edit, as a reader of the file sees them."""

    rule: str
    line: int
    before: str
    after: str
    text: str  # the whole file

    @property
    def name(self) -> str:
        """The same for the same edit, wherever its line has moved to."""
        made = hashlib.sha256(f"{self.rule}\0{self.before}\0{self.after}\0{self._place}".encode())
        return f"line{self.line}-{made.hexdigest()[:10]}"

    @property
    def _place(self) -> int:
        """Which of several equal lines it is."""
        above = self.text.split("\n")[: self.line - 1]
        return sum(line.strip() == self.before for line in above)


def all_mutants(solution: str, name: str = "the solution") -> list[Mutant]:
    """In the order of lines; each text once."""
    lines = solution.split("\n")
    names = names_in(solution)
    seen: set[str] = {solution}
    found = []
    for gap in gaps(solution, name):
        code = [line for number in gap if (line := Line(number, lines[number - 1])).code]
        for rule, line, count, after in _edits(code, names):
            text = "\n".join([*lines[: line.number - 1], after, *lines[line.number - 1 + count :]])
            if text in seen:
                continue
            seen.add(text)
            before = "\n".join(part.strip() for part in lines[line.number - 1 : line.number - 1 + count])
            shown = "\n".join(part.strip() for part in after.split("\n"))
            found.append(Mutant(rule, line.number, before, shown, text))
    return sorted(found, key=lambda mutant: mutant.line)


def _edits(code: list[Line], names: Names) -> Iterator[tuple[str, Line, int, str]]:
    """Of each the rule, the first line, how many lines are replaced, and their new text."""
    for rule in RULES:
        for line in code:
            for after in rule.edits(line, names):
                yield rule.name, line, 1, after
    for first, after in swapped_statements(code):
        yield SWAPPED, first, 2, after


def sampled(mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    chosen = random.Random(seed).sample(mutants, min(count, len(mutants)))
    return sorted(chosen, key=lambda mutant: mutant.line)
