"""Autogrades a class: first all kernels, in parallel and resumable, then nbgrader writes the points."""

from __future__ import annotations

import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import PARTIAL
from grader.classes.class_run import ClassRun
from grader.classes.dependencies import EXERCISE, changed, code_of, code_of_exercise
from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder, assignments, find_assignment
from grader.nbgrader.gradebook import fill, must_be_usable, opened, read_at_once
from grader.nbgrader.handing_in.handed_in import look_over_these, read_notes, unreadable
from grader.nbgrader.kernels import grade_kernels, submission_of
from grader.nbgrader.marks.lab_sheet import lab_of
from grader.nbgrader.marks.late import LatePerDay
from grader.nbgrader.marks.trusted_grade import TrustedGrade
from grader.nbgrader.term.apply import Plan, apply, changes, is_settled, make_plan, remember, settle
from grader.nbgrader.term.by_hand import keep_given, read_given
from grader.nbgrader.term.plan import Pair, read_term
from grader.nbgrader.writing import write_points, written_path
from grader.records.record import Record
from grader.spec import registry
from grader.words.numbers import counted
from grader.words.text import first_of, listed

_HANDED_IN = "the files handed in"
LATENESS = "the due date, an extension or the penalty"
DROPPED = "a dropped question"
_MARKS = (LatePerDay.__module__, TrustedGrade.__module__)


@dataclass(frozen=True)
class Graded:
    """One submission in the gradebook. `record` is the kernel's; `problem` is why there are no points."""

    student: str
    assignment: str
    points: float = 0.0
    most: float = 0.0
    by_hand: bool = False  # a person still has to read answers of it
    record: Record | None = None
    problem: str = ""


def handed_in(folder: ClassFolder, assignments: Sequence[str], students: Sequence[str] = ()) -> list[Pair]:
    """The students and assignments of all submissions, in order."""
    found = []
    for place in sorted(folder.submitted.glob("*/*")):
        student, assignment = place.parent.name, place.name
        if place.is_dir() and assignment in assignments and (not students or student in students):
            found.append((student, assignment))
    return found


def chosen_submissions(folder: ClassFolder, names: Sequence[str], students: Sequence[str]) -> list[Pair]:
    """Those of the named assignments, or of all; of these students, or of all. Raises CourseError where there
    are none."""
    chosen = [find_assignment(name) for name in names] or assignments()
    if found := handed_in(folder, chosen, students):
        return found
    which = f" for {', '.join(chosen)}" if names else ""
    which += f" of {', '.join(students)}" if students else ""
    raise CourseError(
        f"there are no submissions{which} below {folder.submitted}: `./course nbgrader collect NN` "
        "fetches them from the exchange, or put student/NN_name/ there"
    )


def autograde(
    folder: ClassFolder,
    run: ClassRun,
    submissions: Sequence[Pair],
    *,
    arguments: Sequence[str] = (),
) -> list[Graded]:
    """Write points for every submission into the gradebook. Points made from the same files before stay."""
    with _alone(folder):
        term = read_term(folder)
        wanted = list(dict.fromkeys(assignment for _, assignment in submissions))
        with nbgrader_functions(folder, arguments) as functions:
            _prepare_gradebook(functions, folder, wanted)
        plan = make_plan(folder, term, wanted)
        problems = look_over_these(folder, submissions)
        fit = [pair for pair in submissions if pair not in problems]
        kernels = [pair for pair in fit if pair[1] in run.exercises]
        graded = grade_kernels(run, [submission_of(folder, *pair) for pair in kernels])
        records = dict(zip(kernels, graded, strict=True))
        trusted = {"device": run.device.kind, "grader": run.grader}
        with nbgrader_functions(folder, arguments, **trusted) as functions:
            keys = {}
            with opened(functions) as gradebook:
                for note in (*keep_given(folder, gradebook, plan.ever_dropped), *changes(plan, gradebook)):
                    _note(note)
                read_at_once(gradebook, wanted)
                book = Book(folder, functions, gradebook, plan)
                for pair in fit:
                    try:
                        keys[pair] = book.key(pair, records.get(pair))
                    except OSError as problem:
                        problems[pair] = unreadable(problem)
                if not run.fresh:
                    keys = {pair: key for pair, key in keys.items() if not book.is_written(pair, key)}
                apply(plan, gradebook)
            if not run.fresh:
                for line in _what_changed(folder, keys):
                    _note(line)
            problems |= write_points(plan, keys, records, functions)
            with opened(functions) as gradebook:
                there = [pair for pair in fit if pair not in problems]
                given = read_given(folder)
                read_at_once(gradebook, wanted)
                for pair in there:
                    if pair not in keys and not is_settled(plan, gradebook, pair):
                        settle(plan, functions, gradebook, pair, given)
                gradebook.db.commit()
                remember(plan, there)
                read_at_once(gradebook, wanted)  # scores follow from what was settled
                return [
                    _graded(gradebook, pair, records.get(pair), problems.get(pair, ""))
                    for pair in submissions
                ]


def _prepare_gradebook(functions: Any, folder: ClassFolder, wanted: Sequence[str]) -> None:
    """Check it, and enter what it lacks: before hours of grading, not after them."""
    with opened(functions) as book:
        must_be_usable(functions, book)
    for name in wanted:
        if not folder.released(name).is_file():
            must_succeed(f"generating {name}", functions.generate_assignment(name))
    if entered := fill(functions, folder, wanted):
        _note(f"{listed(entered)} entered into the gradebook as released")


def _note(text: str) -> None:
    print(f"note: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Book:
    """The open gradebook of a class, and what its points are made from."""

    folder: ClassFolder
    functions: Any
    gradebook: Any
    plan: Plan
    # Many submissions are of one exercise, whose files do not change meanwhile.
    exercise_code: Callable[[str], str] = field(default_factory=lambda: functools.cache(_exercise_code))

    def key(self, pair: Pair, record: Record | None) -> str:
        """Hashes by name, as JSON, of everything that the points and the graded notebook are made from."""
        student, assignment = pair
        place = self.folder.handed_in(student, assignment)
        files = sorted(path for path in place.rglob("*") if path.is_file())
        released = self.folder.released(assignment)
        # A record's date does not affect points: records of unreadable kernels are remade in every run.
        kept = {} if record is None else {**vars(record), "started": "", "seconds": 0}
        notes = read_notes(self.folder, student, assignment)
        made_from = {
            _HANDED_IN: [notes, *((os.fsdecode(path.name), _hash(path.read_bytes())) for path in files)],
            "the released notebook": _hash(released.read_bytes()) if released.is_file() else "",
            "the gradebook": [self.functions.coursedir.db_url, student, assignment],
            "the kernel's record": kept,
            LATENESS: self._lateness(pair),
            "the lab's key": _lab_key(assignment),
            DROPPED: sorted(self.plan.dropped(assignment)),
            EXERCISE: self.exercise_code(assignment),
            "how marks are written": _marking_code(),
        }
        hashes = {name: _hash(json.dumps(what, default=_plain).encode()) for name, what in made_from.items()}
        return json.dumps(hashes)

    def _lateness(self, pair: Pair) -> list[Any]:
        """What a late submission's points depend on: the due date, the student's extension, the penalty."""
        penalty = self.functions.config.get(LatePerDay.__name__, {})
        return [penalty, self.plan.due(self.gradebook, pair[1]), self.plan.extension(self.gradebook, pair)]

    def is_written(self, pair: Pair, key: str) -> bool:
        student, assignment = pair
        coursedir = self.functions.coursedir
        autograded = Path(coursedir.format_path(coursedir.autograded_directory, student, assignment))
        try:
            if written_path(self.folder, pair).read_text() != key:
                return False
        except OSError:
            return False
        there = (autograded / f"{assignment}.ipynb").is_file()
        return there and _submission(self.gradebook, pair) is not None


@functools.cache
def _lab_key(assignment: str) -> str:
    lab = lab_of(assignment)
    return _hash(lab.key.read_bytes()) if lab is not None and lab.key.is_file() else ""


def _exercise_code(assignment: str) -> str:
    """Predictions have tolerances and shares of the points, which no record holds."""
    folder = next((one for one in registry.exercise_folders() if one.name == assignment), None)
    return "" if folder is None else code_of_exercise(folder)


@functools.cache
def _marking_code() -> str:
    return code_of(*_MARKS)


def _plain(value: object) -> object:
    return vars(value) if dataclasses.is_dataclass(value) else str(value)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def changed_since(folder: ClassFolder, pair: Pair, key: str) -> list[str] | None:
    """What changed since the points were written; None where none are known to be."""
    try:
        return changed(json.loads(written_path(folder, pair).read_bytes()), json.loads(key))
    except (OSError, ValueError, AttributeError):
        return None


def _what_changed(folder: ClassFolder, keys: Mapping[Pair, str]) -> Iterator[str]:
    """A sentence for each reason why points in the gradebook are stale; new files are none."""
    causes: dict[tuple[str, ...], list[str]] = {}
    for pair, key in keys.items():
        names = changed_since(folder, pair, key)
        if names and _HANDED_IN not in names:
            causes.setdefault(tuple(names), []).append(" ".join(pair))
    for cause, whose in causes.items():
        rows = counted(len(whose), "submission's points", "submissions' points")
        changes = f"made before {listed(cause)} changed: written again ({first_of(whose)})"
        yield f"{rows} in the gradebook, {changes}"


def _submission(gradebook: Any, pair: Pair) -> tuple[float, float, bool] | None:
    from nbgrader.api import MissingEntry

    student, assignment = pair
    try:
        found = gradebook.find_submission(assignment, student)
    except MissingEntry:
        return None
    penalty = sum(notebook.late_submission_penalty or 0 for notebook in found.notebooks)
    return round(found.score - penalty, 4), found.max_score, bool(found.needs_manual_grade)


def _graded(gradebook: Any, pair: Pair, record: Record | None, problem: str) -> Graded:
    found = _submission(gradebook, pair)
    if found is None or problem:
        return Graded(*pair, record=record, problem=problem or "it is not in the gradebook")
    return Graded(*pair, points=found[0], most=found[1], by_hand=found[2], record=record)


@contextmanager
def _alone(folder: ClassFolder) -> Iterator[None]:
    """Two runs at once would write the same folders."""
    folder.prepare()
    with (folder.grades / ".autograde.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise CourseError(
                f"another run is autograding the class in {folder.root}; wait for it"
            ) from problem
        for partial in (folder.grades / "written").rglob(f"{PARTIAL}*"):  # of a run that was killed
            partial.unlink(missing_ok=True)
        yield


def make_assignments(folder: ClassFolder, assignments: Sequence[str], arguments: Sequence[str] = ()) -> None:
    """The released version of each, and its place in the gradebook."""
    with nbgrader_functions(folder, arguments) as functions:
        for assignment in assignments:
            must_succeed(f"generating {assignment}", functions.generate_assignment(assignment))
