"""Finds what can be tuned: every folder of `exercises/` with a tuning.py."""

from __future__ import annotations

import hashlib
import importlib
import re
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError
from grader.building.build import HEADERS
from grader.building.comments import without_comments
from grader.classes.submissions import Submission, read_source
from grader.spec import Case, registry
from grader.spec.names import is_named
from grader.tuning.spec import Tuning

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Tunable:
    """A kernel for an exercise, most often its solution, and what can be tuned about it."""

    id: str  # the folder's name
    tuning: Tuning
    source: Path

    @property
    def number(self) -> str:
        return self.id.partition("_")[0]

    def case(self, name: str) -> Case:
        for case in self.tuning.cases:
            if case.name == name:
                return case
        known = "; ".join(case.name for case in self.tuning.cases)
        raise CourseError(f"{self.id} is not tuned at a case {name!r}; its cases are: {known}")

    def fingerprint(self) -> str:
        """Of the code, its headers and the tunables: times of another kernel do not apply to this one.
        Comments and white space do not count."""
        code = [" ".join(without_comments(text).split()) for text in _with_headers(self.source)]
        parts = [*code, repr(self.tuning.tunables)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _with_headers(source: Path) -> list[str]:
    """The text of a file and of all that it includes from the course's headers."""
    texts: dict[Path, str] = {}
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file not in texts and file.is_file():
            texts[file] = file.read_text()
            waiting += [HEADERS / name for name in _INCLUDE.findall(texts[file])]
    return list(texts.values())


def folders() -> list[Path]:
    return sorted(path.parent for path in registry.EXERCISES.glob("*/tuning.py"))


def find(text: str, file: Path | None = None) -> Tunable:
    """By number ("05", "5"), by name or by the folder's name, as other verbs find exercises. `file` is tuned
    in place of the solution."""
    for folder in folders():
        if is_named(folder.name, text):
            return _load(folder, file)
    known = ", ".join(folder.name for folder in folders()) or "none"
    raise CourseError(f"there is nothing to tune in an exercise {text!r}; exercises with tunables: {known}")


def _load(folder: Path, file: Path | None) -> Tunable:
    source = file or registry.SOLUTIONS / folder.name / "kernel.cu"
    if not source.is_file():
        missing = f"there is no file {source}" if file else "there are no reference solutions here"
        raise CourseError(f"{missing}: name your own kernel after the exercise")
    try:
        read_source(Submission("", folder.name, source.resolve()))
    except CourseError as problem:
        raise CourseError(f"{source} cannot be tuned: {problem}") from problem
    return load_tuning(folder, source)


def load_tuning(folder: Path, source: Path) -> Tunable:
    """What the exercise in `folder` says about tuning, for the kernel in `source`."""
    tuning: Tuning = importlib.import_module(f"{registry.package_of(folder)}.tuning").tuning
    return Tunable(folder.name, tuning, source)
