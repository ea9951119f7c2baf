"""What the next autograde will do, and why: `autograde --dry-run`. It grades nothing and writes no points."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.classes.class_run import ClassRun, why_graded
from grader.nbgrader.apps import nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.class_grading import DROPPED, LATENESS, Book, changed_since
from grader.nbgrader.gradebook import must_be_usable, opened
from grader.nbgrader.handing_in.handed_in import unreadable
from grader.nbgrader.kernels import submission_of
from grader.nbgrader.term.apply import Plan, changes, make_plan, penalty_of, score_of
from grader.nbgrader.term.plan import Pair, read_term
from grader.records.record import Record
from grader.words.text import listed


@dataclass(frozen=True)
class Expected:
    """One submission. `then` is None where its points follow from a grading."""

    student: str
    assignment: str
    now: float | None
    then: float | None
    why: str  # empty where nothing changes


@dataclass(frozen=True)
class Forecast:
    changes: tuple[str, ...]  # of whole assignments
    submissions: tuple[Expected, ...]


def forecast(
    folder: ClassFolder, run: ClassRun, submissions: Sequence[Pair], *, arguments: Sequence[str] = ()
) -> Forecast:
    folder.prepare()
    term = read_term(folder)
    wanted = list(dict.fromkeys(assignment for _, assignment in submissions))
    released = [name for name in wanted if folder.released(name).is_file()]
    kernels = {}
    for one, why, record in why_graded(run, [submission_of(folder, *pair) for pair in submissions]):
        kernels[one.student, one.exercise] = (why, record)
    with nbgrader_functions(folder, arguments) as functions, opened(functions) as book:
        must_be_usable(functions, book)
        known = {one.name for one in book.assignments if one.notebooks}
        entered = [name for name in wanted if name not in known]
        plan = make_plan(folder, term, [name for name in released if name in known])
        looking = _Looking(functions, book, plan, Book(folder, functions, book, plan))
        return Forecast(
            (*(f"{name}: entered into the gradebook" for name in entered), *changes(plan, book)),
            tuple(looking.at(pair, *kernels[pair]) for pair in submissions),
        )


@dataclass(frozen=True)
class _Looking:
    functions: Any
    book: Any
    plan: Plan
    keys: Book

    def at(self, pair: Pair, kernel: str, record: Record | None) -> Expected:
        now = self._points(pair) if pair[1] in self.plan.worth else None
        if kernel or now is None:
            return Expected(*pair, now, None, kernel or "not in the gradebook")
        try:
            key = self.keys.key(pair, record)
        except OSError as problem:
            return Expected(*pair, now, now, unreadable(problem))
        if self.keys.is_written(pair, key):
            return Expected(*pair, now, now, "")
        names = changed_since(self.plan.folder, pair, key)
        why = f"{listed(names)} changed" if names else "written again"
        known = names and not set(names) - {LATENESS, DROPPED}
        then = self._then(pair) if known and self._may_be_computed(pair) else None
        return Expected(*pair, now, then, why)

    def _points(self, pair: Pair) -> float | None:
        from nbgrader.api import MissingEntry

        try:
            found = self.book.find_submission(*reversed(pair))
        except MissingEntry:
            return None
        penalty = sum(notebook.late_submission_penalty or 0 for notebook in found.notebooks)
        return round(score_of(_grades(found)) - penalty, 4)

    def _may_be_computed(self, pair: Pair) -> bool:
        """A question that counts again needs its points, which the gradebook does not have."""
        assignment = pair[1]
        return set(self.plan.applied.dropped.get(assignment, ())) <= set(self.plan.dropped(assignment))

    def _then(self, pair: Pair) -> float:
        student, assignment = pair
        found = self.book.find_submission(assignment, student)
        score = score_of(_grades(found), self.plan.dropped(assignment))
        late = _seconds_late(
            found.timestamp, self.plan.due(self.book, assignment), self.plan.extension(self.book, pair)
        )
        return round(score - (penalty_of(self.functions, student, score, late) or 0.0), 4)


def _grades(submission: Any) -> Iterator[Any]:
    for notebook in submission.notebooks:
        yield from notebook.grades


def _seconds_late(
    when: datetime.datetime | None, due: datetime.datetime | None, extension: datetime.timedelta | None
) -> float:
    if when is None or due is None:
        return 0.0
    return max((when - due - (extension or datetime.timedelta(0))).total_seconds(), 0.0)
