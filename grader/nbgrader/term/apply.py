"""Brings a gradebook to what term.toml says, and a late submission's penalty to what follows from both."""

from __future__ import annotations

import datetime
import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_json
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.marks.late import LatePerDay
from grader.nbgrader.term.by_hand import Cell, Given, give_back
from grader.nbgrader.term.plan import Pair, Term
from grader.words.numbers import points as points_text

DROPPED_SAID = "This question counts for nobody."
Length = datetime.timedelta | None


@dataclass(frozen=True)
class Applied:
    """What the gradebook has from term.toml: extensions in seconds by assignment and student, and cells."""

    extensions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    dropped: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What the gradebook should have: the term's own, and else what the gradebook has."""

    folder: ClassFolder
    term: Term
    worth: Mapping[str, Mapping[str, float]]  # points of each assignment's cells, as they were released
    applied: Applied  # of term.toml in earlier runs

    def due(self, book: Any, assignment: str) -> datetime.datetime | None:
        if assignment in self.term.due:
            return self.term.due[assignment]
        found: datetime.datetime | None = book.find_assignment(assignment).duedate
        return found

    def extension(self, book: Any, pair: Pair) -> Length:
        """One that was removed from term.toml ends; one that somebody gave in the gradebook stays."""
        from nbgrader.api import MissingEntry

        student, assignment = pair
        if pair in self.term.extensions:
            return self.term.extensions[pair]
        if student in self.applied.extensions.get(assignment, {}):
            return None
        try:
            found: Length = book.find_submission(assignment, student).extension
        except MissingEntry:
            return None
        return found

    def dropped(self, assignment: str) -> tuple[str, ...]:
        return self.term.dropped.get(assignment, ())

    @property
    def ever_dropped(self) -> set[Cell]:
        """Cells that count for nobody, now or until this plan is applied."""
        both = (self.term.dropped, self.applied.dropped)
        return {(name, cell) for dropped in both for name, cells in dropped.items() for cell in cells}

    def worth_now(self, assignment: str, cell: str) -> float:
        return 0.0 if cell in self.dropped(assignment) else self.worth[assignment][cell]


def make_plan(folder: ClassFolder, term: Term, assignments: Iterable[str]) -> Plan:
    """Raises CourseError where term.toml drops a cell that an assignment does not have."""
    worth = {name: _worth(folder, name) for name in assignments}
    for assignment, cells in term.dropped.items():
        if assignment in worth and (unknown := [cell for cell in cells if cell not in worth[assignment]]):
            known = ", ".join(worth[assignment])
            raise CourseError(
                f"{folder.term}: {assignment} has no graded cell {unknown[0]!r} to drop; it has {known}"
            )
    return Plan(folder, term, worth, _read_applied(folder))


def changes(plan: Plan, book: Any) -> Iterator[str]:
    """A sentence for everything about whole assignments in which the gradebook differs from the plan, and for
    each student of an extension whom nobody knows: a name may be misspelt."""
    given = sorted({student for student, _ in plan.term.extensions})
    known = {one.id for one in book.students} | {one.name for one in plan.folder.submitted.glob("*")}
    for student in given:
        if student not in known:
            like = difflib.get_close_matches(student, sorted(known), n=1)
            hint = f"; {like[0]} is known" if like else ""
            name = plan.folder.term.name
            yield f"{name}: nobody called {student} has handed in or is in the gradebook{hint}"
    for assignment in plan.worth:
        before, after = book.find_assignment(assignment).duedate, plan.due(book, assignment)
        if before != after:
            yield f"{assignment}: due {after} UTC, before {f'{before} UTC' if before else 'at no date'}"
        for cell in _cells(book, assignment):
            worth = plan.worth_now(assignment, cell.name)
            if cell.max_score != worth:
                what = "counts for nobody" if not worth else f"is worth {points_text(worth)} points"
                yield f"{assignment}: {cell.name} {what}, before {points_text(cell.max_score)} points"


def apply(plan: Plan, book: Any) -> None:
    """Due dates and the points of cells. Those of submissions follow with `settle`."""
    for assignment in plan.worth:
        book.find_assignment(assignment).duedate = plan.due(book, assignment)
        for cell in _cells(book, assignment):
            cell.max_score = plan.worth_now(assignment, cell.name)
    book.db.commit()


def settle(plan: Plan, functions: Any, book: Any, pair: Pair, given: Given) -> None:
    """Extension, dropped questions, hand-given points and penalty of one submission, in the open
    transaction."""
    student, assignment = pair
    found = book.find_submission(assignment, student)
    found.extension = plan.extension(book, pair)
    dropped = plan.dropped(assignment)
    for notebook in found.notebooks:
        for grade in notebook.grades:
            if grade.name in dropped:
                grade.auto_score, grade.manual_score, grade.extra_credit = 0.0, None, None
                grade.needs_manual_grade = False
        for comment in notebook.comments:
            if comment.name in dropped:
                comment.auto_comment = DROPPED_SAID  # until the points are written anew without it
    give_back(book, pair, given, dropped)
    settle_penalty(functions, found)


def is_settled(plan: Plan, book: Any, pair: Pair) -> bool:
    """False where `settle` may have something to do for a submission whose points stay."""
    student, assignment = pair
    found = book.find_submission(assignment, student)
    if plan.dropped(assignment) or found.extension != plan.extension(book, pair):
        return False
    return not found.total_seconds_late and not any(one.late_submission_penalty for one in found.notebooks)


def settle_penalty(functions: Any, submission: Any) -> bool:
    """The penalty of the points that a submission has now. nbgrader computes it when it autogrades, so that
    points given by hand later have none. Returns whether it changed."""
    changed = False
    late = submission.total_seconds_late
    for notebook in submission.notebooks:
        wanted = penalty_of(functions, submission.student_id, score_of(notebook.grades), late)
        if (notebook.late_submission_penalty or None) != wanted:
            notebook.late_submission_penalty = wanted
            changed = True
    return changed


def penalty_of(functions: Any, student: str, score: float, seconds_late: float) -> float | None:
    if seconds_late <= 0:
        return None
    found = LatePerDay(parent=functions).late_submission_penalty(student, score, seconds_late)
    return None if not found else min(max(found, 0.0), score)


def score_of(grades: Iterable[Any], dropped: Iterable[str] = ()) -> float:
    """As nbgrader adds them up; its own sum is a query that does not see pending changes."""
    left_out = set(dropped)
    return sum(_score(grade) for grade in grades if grade.name not in left_out)


def _score(grade: Any) -> float:
    base = grade.auto_score if grade.manual_score is None else grade.manual_score
    return 0.0 if base is None else float(base + (grade.extra_credit or 0.0))


def _cells(book: Any, assignment: str) -> list[Any]:
    return [cell for notebook in book.find_assignment(assignment).notebooks for cell in notebook.grade_cells]


def _worth(folder: ClassFolder, assignment: str) -> dict[str, float]:
    path = folder.released(assignment)
    try:
        cells = json.loads(path.read_bytes())["cells"]
    except (OSError, ValueError, KeyError) as problem:
        raise CourseError(
            f"the released notebook {path} cannot be read: {problem}. `./course nbgrader generate_assignment "
            f"{assignment}` makes it again."
        ) from problem
    about = [cell.get("metadata", {}).get("nbgrader", {}) for cell in cells]
    return {one["grade_id"]: float(one["points"]) for one in about if one.get("grade")}


def _applied_path(folder: ClassFolder) -> Path:
    return folder.grades / "term.json"


def _read_applied(folder: ClassFolder) -> Applied:
    try:
        return Applied(**json.loads(_applied_path(folder).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Applied()


def remember(plan: Plan, settled: Iterable[Pair]) -> None:
    """Note what of term.toml the gradebook has now, so that what is removed there ends here."""
    extensions = {assignment: dict(students) for assignment, students in plan.applied.extensions.items()}
    for student, assignment in settled:
        length = plan.term.extensions.get((student, assignment))
        extensions.setdefault(assignment, {}).pop(student, None)
        if length is not None:
            extensions[assignment][student] = length.total_seconds()
    dropped = {**plan.applied.dropped, **{name: list(plan.dropped(name)) for name in plan.worth}}
    write_json(_applied_path(plan.folder), vars(Applied(extensions, dropped)), private=True)
