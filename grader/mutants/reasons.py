"""Why some mutants are no mistakes: one line for each, beside the solution, in equal_mutants.toml.

solution = "5d41402a…"        # the hash of kernel.cu: when that changes, every reason is stale

[[equal]]
line = 59
before = '''for (int i = 0; i < 2; ++i) {'''
after = '''for (int i = 0; i < 3; ++i) {'''      # or several, in a list
reason = "the condition inside of the loop is false for the third unit of every row"
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from common.core.errors import CourseError
from grader.mutants.making import Mutant
from grader.spec import Exercise

NAME = "equal_mutants.toml"
Edit = tuple[int, str, str]  # line, before, after


@dataclass(frozen=True)
class Reasons:
    """`stale` where they were written for another solution: then none counts."""

    path: Path
    by_edit: dict[Edit, str] = field(default_factory=dict)
    stale: bool = False

    def of(self, mutant: Mutant) -> str:
        return "" if self.stale else self.by_edit.get(edit_of(mutant), "")

    def idle(self, mutants: list[Mutant]) -> list[Edit]:
        """Reasons for edits that no rule makes."""
        made = {edit_of(mutant) for mutant in mutants}
        return [edit for edit in self.by_edit if edit not in made]


def edit_of(mutant: Mutant) -> Edit:
    return mutant.line, mutant.before, mutant.after


def fingerprint(solution: Path) -> str:
    return hashlib.sha256(solution.read_bytes()).hexdigest()


def read_reasons(exercise: Exercise) -> Reasons:
    path = exercise.solution.with_name(NAME)
    if not path.is_file():
        return Reasons(path)
    try:
        data = tomllib.loads(path.read_text())
        found = {
            (int(one["line"]), one["before"], after): one["reason"]
            for one in data["equal"]
            for after in ([one["after"]] if isinstance(one["after"], str) else one["after"])
        }
        return Reasons(path, found, stale=data["solution"] != fingerprint(exercise.solution))
    except (ValueError, KeyError, TypeError) as problem:
        raise CourseError(f"{path} cannot be read: {problem}. {__doc__}") from problem


def entry(mutant: Mutant) -> str:
    """What to add to the file for a survivor."""
    return (
        f"[[equal]]\nline = {mutant.line}\nbefore = '''{mutant.before}'''\nafter = '''{mutant.after}'''\n"
        'reason = ""\n'
    )
