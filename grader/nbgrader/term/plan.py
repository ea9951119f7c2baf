"""The class's term.toml: due dates, groups, extensions, dropped questions; checked before they are used."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from common.core.errors import CourseError
from grader.nbgrader.class_folder import ClassFolder, find_assignment
from grader.words.text import listed

Pair = tuple[str, str]  # a student and an assignment

_LENGTHS = ("weeks", "days", "hours", "minutes")
_WHOM = ("students", "groups")
_MOST_LENGTH = 100_000  # of any unit
_YEARS = range(1970, 3000)
_TABLES = ("due", "groups", "extension", "dropped")


@dataclass(frozen=True)
class Term:
    """Due dates are in UTC, without a time zone, as nbgrader keeps them."""

    due: Mapping[str, datetime.datetime] = field(default_factory=dict)
    extensions: Mapping[Pair, datetime.timedelta] = field(default_factory=dict)
    dropped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # cells of each assignment


def read_term(folder: ClassFolder) -> Term:
    """Raises CourseError with the file and line of what cannot be used."""
    path = folder.term
    try:
        text = path.read_text()
        data = tomllib.loads(text)
    except FileNotFoundError:
        return Term()
    except (OSError, ValueError) as problem:
        raise CourseError(f"{path} cannot be read: {problem}") from problem
    return _Reader(path, text).term(data)


@dataclass(frozen=True)
class _Reader:
    path: Path
    text: str

    def term(self, data: Mapping[str, Any]) -> Term:
        for name in data:
            if name not in _TABLES:
                self._refuse(name, f"there is no table {name!r}; the tables are {', '.join(_TABLES)}")
        groups = {name: self._texts(name, students) for name, students in self._table(data, "groups").items()}
        return Term(
            due={self._assignment(k): self._date(k, v) for k, v in self._table(data, "due").items()},
            extensions=self._extensions(data.get("extension", []), groups),
            dropped={self._assignment(k): self._texts(k, v) for k, v in self._table(data, "dropped").items()},
        )

    def _extensions(
        self, given: Any, groups: Mapping[str, tuple[str, ...]]
    ) -> dict[Pair, datetime.timedelta]:
        """The longest one of each student: a student may be in several groups."""
        if not isinstance(given, list):
            self._refuse("extension", "each extension is a table of its own, below a line [[extension]]")
        found: dict[Pair, datetime.timedelta] = {}
        for number, entry in enumerate(given, 1):
            for pair, length in self._extension(number, entry, groups):
                found[pair] = max(length, found.get(pair, length))
        return found

    def _extension(
        self, number: int, entry: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]]
    ) -> Iterator[tuple[Pair, datetime.timedelta]]:
        where = f"extension {number}"
        if not isinstance(entry, dict):
            self._refuse("extension", f"{where} is {entry!r}: each extension is a table, below [[extension]]")
        known = ("assignment", *_WHOM, *_LENGTHS)
        if unknown := [name for name in entry if name not in known]:
            self._refuse(unknown[0], f"{where} has {unknown[0]!r}; it may have {listed(known)}")
        if "assignment" not in entry:
            self._refuse("extension", f'{where} names no assignment: assignment = "01"')
        assignment = self._assignment(str(entry["assignment"]))
        lengths = {unit: self._number(unit, entry.get(unit, 0)) for unit in _LENGTHS}
        if max(lengths.values()) > _MOST_LENGTH:
            self._refuse("extension", f"{where} is longer than any term: a number of {listed(_LENGTHS)}")
        length = datetime.timedelta(**lengths)
        if length <= datetime.timedelta(0):
            self._refuse("extension", f"{where} has no length: days = 3, or {listed(_LENGTHS)}")
        students = list(self._texts("students", entry.get("students", [])))
        for group in self._texts("groups", entry.get("groups", [])):
            if group not in groups:
                known_groups = ", ".join(groups) or "none yet"
                self._refuse(group, f"there is no group {group!r}; [groups] has {known_groups}")
            students += groups[group]
        if not students:
            self._refuse("extension", f'{where} names nobody: students = ["ada"] or groups = ["tuesday"]')
        for student in students:
            yield (student, assignment), length

    def _table(self, data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        found = data.get(name, {})
        if not isinstance(found, dict):
            self._refuse(name, f"{name} is {found!r} where a table was expected: [{name}]")
        return dict(found)

    def _assignment(self, text: str) -> str:
        try:
            return find_assignment(text)
        except CourseError as problem:
            self._refuse(text, str(problem))

    def _date(self, name: str, value: Any) -> datetime.datetime:
        if not isinstance(value, datetime.datetime) or value.tzinfo is None:
            self._refuse(
                name,
                f"the due date of {name} is {value}; a date with a time and an offset from UTC was expected: "
                "2030-01-31T23:59:00+01:00, or with Z for UTC",
            )
        if value.year not in _YEARS:
            self._refuse(
                name, f"the due date of {name} is in the year {value.year}: leave out what is never due"
            )
        return value.astimezone(datetime.UTC).replace(tzinfo=None)

    def _number(self, name: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:  # nan is not
            self._refuse(name, f"{name} is {value!r} where a number of at least 0 was expected")
        return float(value)

    def _texts(self, name: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self._refuse(name, f'{name} is {value!r} where a list of texts was expected: ["…", "…"]')
        return tuple(value)

    def _refuse(self, name: str, sentence: str) -> NoReturn:
        """The line is the first that is not a comment and has the name."""
        word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
        lines = enumerate(self.text.splitlines(), 1)
        line = next((n for n, text in lines if word.search(text.partition("#")[0])), 1)
        raise CourseError(f"{self.path}:{line}: {sentence}")
