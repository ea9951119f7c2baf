"""Grades many submissions: in parallel, on a GPU one at a time, here or elsewhere, resumable at any point.

OUTPUT/records/EXERCISE/STUDENT.json     the record, written whole the moment it is there
OUTPUT/records/EXERCISE/.keys/STUDENT    what it was made from; written after it, so a missing or other key
                                         only ever means that a submission is graded again
OUTPUT/.secret                           draws the hidden cases of the class: the same file has the same
                                         points, whoever hands it in and whenever
OUTPUT/run.jsonl                         how the runs went: who graded what, for how long, what was lost
OUTPUT/.scratch/                         what is being graded now; swept by the next run
"""

from __future__ import annotations

import dataclasses
import fcntl
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common.core.errors import CourseError, MachineOverloaded
from common.core.files import PARTIAL, write_whole
from common.sandbox.folder import sweep
from grader.classes.dependencies import changed, dependencies, read_key, record_key
from grader.classes.executor import UNGRADED, Executor, Task, bare_record, task_name
from grader.classes.grading_process import DEFAULT_GRADER, Orphans
from grader.classes.local_processes import LocalProcesses
from grader.classes.progress import run_progress
from grader.classes.run_log import RunLog
from grader.classes.submissions import Submission, read_source
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Exercise, seeds
from grader.spec.names import file_name
from grader.words.numbers import counted
from grader.words.text import first_of, listed

UNREADABLE = "unreadable submission"
SECRET = ".secret"


@dataclass(frozen=True)
class ClassRun:
    """How a class is graded."""

    device: DeviceInfo
    exercises: Mapping[str, Exercise]
    output: Path
    wall_seconds: float = 300.0
    jobs: int | None = None  # as many as there are CPUs
    fresh: bool = False
    seed: str | None = None  # instead of the class's secret: to repeat a grading
    grader: str = DEFAULT_GRADER
    executor: Executor = field(default_factory=LocalProcesses)

    @property
    def scratch(self) -> Path:
        return self.output / ".scratch"

    def seed_of(self, exercise: str) -> str:
        """For every submission of an exercise. The class's secret is made when it is first needed."""
        if self.seed is not None:
            return self.seed
        path = self.output / SECRET
        if not path.is_file():
            write_whole(path, seeds.fresh(), private=True)
        return seeds.derive(path.read_text(), exercise)

    def record_path(self, submission: Submission) -> Path:
        folder = file_name(submission.exercise or "unknown")
        return self.output / "records" / folder / f"{file_name(submission.student)}.json"


def grade_all(run: ClassRun, submissions: Sequence[Submission]) -> list[Record]:
    """A record for every submission, in their order. Those graded before, from the same bytes, are kept."""
    with _owned(run):
        done: dict[Submission, Record] = {}
        tasks: list[Task] = []
        depends = {name: _dependencies(run, name) for name in {one.exercise for one in submissions}}
        for line in _what_changed(run, submissions, depends):
            print(f"note: {line}", file=sys.stderr, flush=True)
        for submission in submissions:
            outcome = _prepare(run, submission, depends[submission.exercise])
            if isinstance(outcome, Record):
                done[submission] = outcome
            else:
                tasks.append(outcome)
        if tasks:
            with (
                Orphans() as orphans,
                run_progress(len(tasks)) as progress,
                closing(run.executor.graded(run, tasks, progress)) as graded,
            ):
                log = RunLog.begin(run.output, len(tasks))
                for one in graded:
                    orphans.end()
                    task, record = one.task, one.record
                    _keep(run, task.submission, record, "" if _may_succeed_later(record) else task.key)
                    log.add(one)
                    done[task.submission] = record
                    progress.finished(task.name, record.verdict)
        return [done[submission] for submission in submissions]


def draw_new_secret(run: ClassRun) -> None:
    """Other hidden cases from now on: every submission of the class is graded again."""
    (run.output / SECRET).unlink(missing_ok=True)


def kept_record(run: ClassRun, submission: Submission) -> Record | None:
    """The record of an earlier run, if it was made from what the submission holds now."""
    try:
        key = record_key(_dependencies(run, submission.exercise), read_source(submission))
    except CourseError:
        key = ""  # unreadable ones are kept under this key
    return _kept(run, submission, key)


def why_graded(
    run: ClassRun, submissions: Sequence[Submission]
) -> Iterator[tuple[Submission, str, Record | None]]:
    """Each submission with the reason why `grade_all` would grade it now, or with the record that stays."""
    depends = {name: _dependencies(run, name) for name in {one.exercise for one in submissions}}
    for submission in submissions:
        needed = depends[submission.exercise]
        try:
            key = record_key(needed, read_source(submission))
        except CourseError as problem:
            bare = bare_record(run, submission, f"{UNREADABLE}: {problem}")
            yield submission, "", _as_before(run, submission, bare)
            continue
        before = _key_of(run.record_path(submission))
        kept = None if run.fresh else _kept(run, submission, key)
        if kept is not None:
            yield submission, "", kept
        elif run.fresh or not before:
            yield submission, "all are graded again" if run.fresh else "not graded before", None
        else:
            names = changed(before, needed)
            yield submission, f"{listed(names)} changed" if names else "a newer submission", None


def _dependencies(run: ClassRun, name: str) -> dict[str, str]:
    if (exercise := run.exercises.get(name)) is None:
        return {}
    return dependencies(exercise, run.device, run.grader, run.wall_seconds, run.seed_of(name))


def _what_changed(
    run: ClassRun, submissions: Sequence[Submission], depends: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """A sentence for each reason why submissions that have a record are graded again."""
    if run.fresh:
        return
    causes: dict[tuple[str, ...], list[str]] = {}
    for submission in submissions:
        if before := _key_of(run.record_path(submission)):
            names = tuple(changed(before, depends[submission.exercise]))
            causes.setdefault(names, []).append(task_name(submission))
    for names, whose in causes.items():
        if names:
            count = counted(len(whose), "record")
            yield f"{count} made before {listed(names)} changed: graded again ({first_of(whose)})"


def _prepare(run: ClassRun, submission: Submission, depends: Mapping[str, str]) -> Record | Task:
    """The record if there is one already or grading cannot change it; else the task."""
    try:
        data = read_source(submission)
    except CourseError as problem:
        record = bare_record(run, submission, f"{UNREADABLE}: {problem}")
        _keep(run, submission, record, "")
        return record
    key = record_key(depends, data)
    kept = None if run.fresh else _kept(run, submission, key)
    return kept or Task(submission, data, key)


def _may_succeed_later(record: Record) -> bool:
    """Whether the machine is at fault: then the next run grades the submission again."""
    return record.verdict == UNGRADED and any(MachineOverloaded.words in flag for flag in record.flags)


def _kept(run: ClassRun, submission: Submission, key: str) -> Record | None:
    path = run.record_path(submission)
    try:
        return Record.read(path) if _key_path(path).read_text() == key else None
    except (OSError, CourseError):
        return None


def _as_before(run: ClassRun, submission: Submission, bare: Record) -> Record:
    """With what was counted for an earlier record of the same verdict: nothing of it is the submission's."""
    try:
        before = Record.read(run.record_path(submission))
    except CourseError:
        return bare
    if before.verdict != bare.verdict:
        return bare
    return dataclasses.replace(bare, measured=before.measured, unmeasured=before.unmeasured)


def _keep(run: ClassRun, submission: Submission, record: Record, key: str) -> None:
    path = run.record_path(submission)
    # A run killed in between must not leave a new record under an old key.
    _key_path(path).unlink(missing_ok=True)
    record.write(path)
    _key_path(path).parent.mkdir(exist_ok=True)
    write_whole(_key_path(path), key)


def _key_of(record: Path) -> dict[str, str]:
    """What the record was made from; nothing where there is none."""
    try:
        return read_key(_key_path(record).read_bytes())
    except OSError:
        return {}


def _key_path(record: Path) -> Path:
    return record.parent / ".keys" / record.stem


@contextmanager
def _owned(run: ClassRun) -> Iterator[None]:
    """Lock the output folder: two runs in one would delete each other's work."""
    try:
        run.output.mkdir(parents=True, exist_ok=True)
        lock = (run.output / ".lock").open("w")
    except OSError as problem:
        raise CourseError(
            f"{run.output} cannot be written: {problem.strerror}. Choose another with --output."
        ) from (problem)
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            raise CourseError(
                f"another run is grading into {run.output}; wait for it, or choose another --output"
            ) from (problem)
        _sweep(run)
        try:
            yield
        finally:
            shutil.rmtree(run.scratch, ignore_errors=True)
            sweep()  # the folders of workers and grading processes that were killed under this run


def _sweep(run: ClassRun) -> None:
    """Remove what a killed run left: its scratch folder, and records that were never finished."""
    shutil.rmtree(run.scratch, ignore_errors=True)
    for partial in (run.output / "records").rglob(f"{PARTIAL}*"):
        partial.unlink(missing_ok=True)
