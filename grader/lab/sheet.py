"""A lab's answers: reads the sheet, whatever is in it, and holds it against the key.

What keeps a sheet from being read at all is a CourseError with the place in the file. What is wrong with a
single answer costs that answer's point and is said beside it. No reason gives the right answer away.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.lab.lab import EVIDENCE, Lab
from grader.questions.answer_files import parse_toml, read_text
from grader.words import numbers
from grader.words.text import one_line

FIELDS = ("fault", "line", "evidence")  # a point each
_UNGRADED = ("fix",)
_MOST_SHOWN = 60  # characters of an answer that is not as it should be
_MOST_NOTES = 10
_EMPTY = "not answered"
_FORM = 'write answers as `fault = "its-id"` and `line = 12`, below the name of the kernel in brackets'


@dataclass(frozen=True)
class Graded:
    """What one answer earned, and why."""

    kernel: str
    field: str
    points: int
    reason: str


@dataclass(frozen=True)
class Result:
    """All answers of a sheet; `notes` name what is in it and belongs to none."""

    graded: tuple[Graded, ...]
    notes: tuple[str, ...]

    @property
    def points(self) -> int:
        return sum(answer.points for answer in self.graded)

    @property
    def max_points(self) -> int:
        return len(self.graded)


@dataclass(frozen=True)
class Key:
    """What is right about one kernel. `lines` are those that can be changed to mend it."""

    fault: str
    lines: tuple[int, ...]
    evidence: tuple[str, ...]


def read_key(lab: Lab) -> dict[str, Key]:
    path = lab.solutions / "key.toml"
    if not path.is_file():
        raise CourseError(f"there is no {path}: answers are graded where the course's solutions are")
    table = tomllib.loads(path.read_text())
    return {
        kernel: Key(entry["fault"], tuple(entry["lines"]), tuple(entry["evidence"]))
        for kernel, entry in table.items()
    }


def read_sheet(path: Path, lab: Lab) -> dict[str, Any]:
    """The sheet as TOML has it. Raises CourseError: what, where, what was expected, what to try."""
    return parse_toml(read_text(path, f"copy {lab.sheet} and fill it in"), path, _FORM)


def grade_sheet(lab: Lab, sheet: Mapping[str, Any], key: Mapping[str, Key]) -> Result:
    graded = tuple(answer for kernel in lab.kernels for answer in _grade(lab, kernel, sheet, key[kernel]))
    return Result(graded, tuple(_strangers(lab, sheet)))


def _grade(lab: Lab, kernel: str, sheet: Mapping[str, Any], right: Key) -> list[Graded]:
    entry = sheet.get(kernel)
    if not isinstance(entry, Mapping):
        missing = f"the sheet has no [{kernel}]"
        reason = missing if entry is None else f"{kernel} is {_shown(entry)}, expected a table: [{kernel}]"
        return [Graded(kernel, field, 0, reason) for field in FIELDS]
    judges: dict[str, Callable[[Any], tuple[int, str]]] = {
        "fault": lambda given: _judge_word(given, lab.faults, (right.fault,)),
        "line": lambda given: _judge_line(given, lab.source(kernel), right.lines),
        "evidence": lambda given: _judge_word(given, EVIDENCE, right.evidence),
    }
    return [Graded(kernel, field, *judges[field](entry.get(field))) for field in FIELDS]


def _judge_word(given: Any, known: Mapping[str, str], right: tuple[str, ...]) -> tuple[int, str]:
    """An id of a list, however its words are joined."""
    if given is None:
        return 0, _EMPTY
    if not isinstance(given, str):
        return 0, f"{_shown(given)} is no text, expected an id of the list in quotes"
    if not given.strip():
        return 0, _EMPTY
    plain = {_plain(word): word for word in known}
    word = plain.get(_plain(given))
    if word is None:
        close = difflib.get_close_matches(_plain(given)[:_MOST_SHOWN], plain, n=1)
        guess = f"; did you mean {plain[close[0]]!r}?" if close else ""
        return 0, f"{_shown(given)} is not on the list{guess}"
    return (1, "right") if word in right else (0, f"{word!r} is not it")


def _judge_line(given: Any, source: Path, right: tuple[int, ...]) -> tuple[int, str]:
    if given is None or given == "":
        return 0, _EMPTY
    if not isinstance(given, int) or isinstance(given, bool):
        return 0, f"{_shown(given)} is no whole number, expected one without quotes: line = 12"
    if given == 0:
        return 0, f"{_EMPTY}: lines count from 1"
    last = len(source.read_text().splitlines())
    if not 1 <= given <= last:
        return 0, f"{_shown(given)} is no line of {source.name}, which has lines 1 to {last}"
    return (1, "right") if given in right else (0, f"line {given} is not the one to change")


def _strangers(lab: Lab, sheet: Mapping[str, Any]) -> list[str]:
    """A misspelt name would else look like an answer that was never given."""
    notes = [f"{_shown(name)} is no kernel of this lab" for name in sheet if name not in lab.kernels]
    known = FIELDS + _UNGRADED
    for kernel in lab.kernels:
        entry = sheet.get(kernel)
        names = entry if isinstance(entry, Mapping) else ()
        unknown = (name for name in names if name not in known)
        notes += [f"[{kernel}] has {_shown(name)}, which is none of {', '.join(known)}" for name in unknown]
    if len(notes) > _MOST_NOTES:
        rest = numbers.counted(len(notes) - _MOST_NOTES, "more name is", "more names are")
        return [*notes[:_MOST_NOTES], f"{rest} not of this lab"]
    return notes


def _plain(text: str) -> str:
    return " ".join(re.split(r"[\s_-]+", text.strip().lower()))


def _shown(value: Any) -> str:
    try:
        return one_line(repr(value), _MOST_SHOWN)
    except (ValueError, RecursionError):  # Python writes out neither thousands of digits nor of brackets
        return "a value too long to show"
