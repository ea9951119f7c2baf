"""Autogrades a class: first all kernels, in parallel and resumable, then nbgrader writes the points.

grades/written/ASSIGNMENT/STUDENT    what a submission's points in the gradebook were made from; written last,
                                     so that a run which was killed only ever writes the same points again
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import PARTIAL, write_whole
from grader.classes.class_run import ClassRun
from grader.classes.dependencies import changed, code_of
from grader.classes.progress import run_progress
from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder, assignments, find_assignment
from grader.nbgrader.handing_in.handed_in import look_over_these, read_notes, unreadable
from grader.nbgrader.kernels import grade_kernels, submission_of
from grader.nbgrader.marks.batch import one_transaction
from grader.nbgrader.marks.late import LatePerDay
from grader.nbgrader.marks.trusted_grade import TrustedGrade
from grader.records.record import Record
from grader.spec.names import file_name
from grader.words.numbers import counted
from grader.words.text import listed

Pair = tuple[str, str]  # a student and an assignment
_BATCH = 50  # submissions in one transaction
_HANDED_IN = "the files handed in"
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
    wanted = list(dict.fromkeys(assignment for _, assignment in submissions))
    if missing := [name for name in wanted if not _released(folder, name).is_file()]:
        make_assignments(folder, missing, arguments)
    with _alone(folder):
        problems = look_over_these(folder, submissions)
        fit = [pair for pair in submissions if pair not in problems]
        kernels = [pair for pair in fit if pair[1] in run.exercises]
        graded = grade_kernels(run, [submission_of(folder, *pair) for pair in kernels])
        records = dict(zip(kernels, graded, strict=True))
        trusted = {"device": run.device.kind, "grader": run.grader}
        with nbgrader_functions(folder, arguments, **trusted) as functions:
            keys = {}
            with functions.gradebook as gradebook:
                book = _Book(folder, functions, gradebook, code_of(*_MARKS))
                for pair in fit:
                    try:
                        keys[pair] = book.key(pair, records.get(pair))
                    except OSError as problem:
                        problems[pair] = unreadable(problem)
                if not run.fresh:
                    keys = {pair: key for pair, key in keys.items() if not book.is_written(pair, key)}
            if not run.fresh:
                for line in _what_changed(folder, keys):
                    print(f"note: {line}", file=sys.stderr, flush=True)
            problems |= _write(folder, keys, records, functions)
            with functions.gradebook as gradebook:
                return [
                    _graded(gradebook, pair, records.get(pair), problems.get(pair, ""))
                    for pair in submissions
                ]


def _write(
    folder: ClassFolder, keys: Mapping[Pair, str], records: Mapping[Pair, Record], functions: Any
) -> dict[Pair, str]:
    """Let nbgrader write the points of these; returns problems by submission."""
    problems: dict[Pair, str] = {}
    if not keys:
        return problems
    with run_progress(len(keys)) as progress:
        for batch in _batches(list(keys)):
            for pair in batch:
                # A run killed in between must not leave new points under an old key.
                _written_path(folder, pair).unlink(missing_ok=True)
            failed = _write_batch(batch, records, functions)
            for pair in batch:
                if pair not in failed:
                    write_whole(_written_path(folder, pair), keys[pair])
                state = "points not written" if pair in failed else "points written"
                progress.finished(" ".join(pair), state)
            problems |= failed
    return problems


def _batches(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    for first in range(0, len(pairs), _BATCH):
        yield pairs[first : first + _BATCH]


def _write_batch(batch: Sequence[Pair], records: Mapping[Pair, Record], functions: Any) -> dict[Pair, str]:
    """In one transaction. Where one of them fails, each is written by itself, and problems are returned."""
    try:
        with one_transaction(functions, {pair: records[pair] for pair in batch if pair in records}):
            for student, assignment in batch:
                must_succeed("nbgrader", functions.autograde(assignment, student, force=True, create=True))
        return {}
    except CourseError as problem:
        if len(batch) == 1:
            return {batch[0]: str(problem)}
    problems: dict[Pair, str] = {}
    for pair in batch:
        problems |= _write_batch([pair], records, functions)
    return problems


@dataclass(frozen=True)
class _Book:
    """The open gradebook of a class, and what its points are made from. `marks` hashes the code of that."""

    folder: ClassFolder
    functions: Any
    gradebook: Any
    marks: str

    def key(self, pair: Pair, record: Record | None) -> str:
        """Hashes by name, as JSON, of everything that the points and the graded notebook are made from."""
        student, assignment = pair
        place = self.folder.handed_in(student, assignment)
        files = sorted(path for path in place.rglob("*") if path.is_file())
        released = _released(self.folder, assignment)
        # A record's date does not affect points: records of unreadable kernels are remade in every run.
        kept = {} if record is None else {**vars(record), "started": "", "seconds": 0}
        notes = read_notes(self.folder, student, assignment)
        made_from = {
            _HANDED_IN: [notes, *((os.fsdecode(path.name), _hash(path.read_bytes())) for path in files)],
            "the released notebook": _hash(released.read_bytes()) if released.is_file() else "",
            "the gradebook": [self.functions.coursedir.db_url, student, assignment],
            "the kernel's record": kept,
            "the due date, an extension or the penalty": self._lateness(pair),
            "how marks are written": self.marks,
        }
        hashes = {name: _hash(json.dumps(what, default=_plain).encode()) for name, what in made_from.items()}
        return json.dumps(hashes)

    def _lateness(self, pair: Pair) -> list[Any]:
        """What a late submission's points depend on: the due date, the student's extension, the penalty."""
        from nbgrader.api import MissingEntry

        student, assignment = pair
        penalty = self.functions.config.get(LatePerDay.__name__, {})
        due = extension = None
        with contextlib.suppress(MissingEntry):
            due = self.gradebook.find_assignment(assignment).duedate
            extension = self.gradebook.find_submission(assignment, student).extension
        return [penalty, due, extension]

    def is_written(self, pair: Pair, key: str) -> bool:
        student, assignment = pair
        coursedir = self.functions.coursedir
        autograded = Path(coursedir.format_path(coursedir.autograded_directory, student, assignment))
        try:
            if _written_path(self.folder, pair).read_text() != key:
                return False
        except OSError:
            return False
        there = (autograded / f"{assignment}.ipynb").is_file()
        return there and _submission(self.gradebook, pair) is not None


def _plain(value: object) -> object:
    return vars(value) if dataclasses.is_dataclass(value) else str(value)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _what_changed(folder: ClassFolder, keys: Mapping[Pair, str]) -> Iterator[str]:
    """A sentence for each reason why points in the gradebook are stale; new files are none."""
    causes = Counter[tuple[str, ...]]()
    for pair, key in keys.items():
        try:
            before = json.loads(_written_path(folder, pair).read_bytes())
            names = changed(before, json.loads(key))
        except (OSError, ValueError, AttributeError):
            continue
        if names and _HANDED_IN not in names:
            causes[tuple(names)] += 1
    for cause, count in causes.items():
        rows = counted(count, "submission's points", "submissions' points")
        yield f"{rows} in the gradebook, made before {listed(cause)} changed: written again"


def _written_path(folder: ClassFolder, pair: Pair) -> Path:
    student, assignment = pair
    return folder.grades / "written" / file_name(assignment) / file_name(student)


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


def _released(folder: ClassFolder, assignment: str) -> Path:
    return folder.release / assignment / f"{assignment}.ipynb"
