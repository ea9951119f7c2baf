"""Grades many submissions: in parallel on the virtual GPU, one at a time on a GPU, resumable at any point.

OUTPUT/records/EXERCISE/STUDENT.json     the record, written whole the moment it is there
OUTPUT/records/EXERCISE/.keys/STUDENT    what it was made from; written after it, so a missing or other key
                                         only ever means that a submission is graded again
OUTPUT/.scratch/                         what is being graded now; swept by the next run
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from common.core.errors import CourseError, MachineOverloaded
from common.core.files import PARTIAL
from grader.classes.executor import UNGRADED, Executor, LocalProcesses, Task, bare_record
from grader.classes.grading_process import DEFAULT_GRADER, Orphans
from grader.classes.progress import run_progress
from grader.classes.submissions import Submission, read_source
from grader.records.device_info import DeviceInfo
from grader.records.record import VERSION, Record
from grader.spec import Exercise
from grader.spec.names import file_name

UNREADABLE = "unreadable submission"
_SPEC_FILES = ("*.py", "baseline.cu")


@dataclass(frozen=True)
class ClassRun:
    """How a class is graded."""

    device: DeviceInfo
    exercises: Mapping[str, Exercise]
    output: Path
    wall_seconds: float = 300.0
    jobs: int | None = None  # as many as there are CPUs
    fresh: bool = False
    seed: str | None = None
    grader: str = DEFAULT_GRADER
    executor: Executor = field(default_factory=LocalProcesses)

    @property
    def scratch(self) -> Path:
        return self.output / ".scratch"

    def record_path(self, submission: Submission) -> Path:
        folder = file_name(submission.exercise or "unknown")
        return self.output / "records" / folder / f"{file_name(submission.student)}.json"


def grade_all(run: ClassRun, submissions: Sequence[Submission]) -> list[Record]:
    """A record for every submission, in their order. Those graded before, from the same bytes, are kept."""
    with _owned(run):
        done: dict[Submission, Record] = {}
        tasks: list[Task] = []
        for submission in submissions:
            outcome = _prepare(run, submission)
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
                for task, record in graded:
                    orphans.end()
                    _keep(run, task.submission, record, "" if _may_succeed_later(record) else task.key)
                    done[task.submission] = record
                    progress.finished(task.name, record.verdict)
        return [done[submission] for submission in submissions]


def kept_record(run: ClassRun, submission: Submission) -> Record | None:
    """The record of an earlier run, if it was made from what the submission holds now."""
    try:
        key = _key(run, submission, read_source(submission))
    except CourseError:
        key = ""  # unreadable ones are kept under this key
    return _kept(run, submission, key)


def _prepare(run: ClassRun, submission: Submission) -> Record | Task:
    """The record if there is one already or grading cannot change it; else the task."""
    try:
        data = read_source(submission)
    except CourseError as problem:
        record = bare_record(run, submission, f"{UNREADABLE}: {problem}")
        _keep(run, submission, record, "")
        return record
    key = _key(run, submission, data)
    kept = None if run.fresh else _kept(run, submission, key)
    return kept or Task(submission, data, key)


def _may_succeed_later(record: Record) -> bool:
    """Whether the machine is at fault: then the next run grades the submission again."""
    return record.verdict == UNGRADED and any(MachineOverloaded.words in flag for flag in record.flags)


def _key(run: ClassRun, submission: Submission, data: bytes) -> str:
    """A hash of everything that a record depends on: the bytes, the exercise, the device and the settings."""
    exercise = run.exercises[submission.exercise]
    parts = [str(VERSION), submission.exercise, run.device.kind, run.device.name, f"{run.wall_seconds:g}"]
    made = hashlib.sha256("\0".join(parts).encode())
    for path in sorted(path for pattern in _SPEC_FILES for path in exercise.folder.glob(pattern)):
        made.update(hashlib.sha256(path.read_bytes()).digest())
    made.update(hashlib.sha256(data).digest())
    return made.hexdigest()


def _kept(run: ClassRun, submission: Submission, key: str) -> Record | None:
    path = run.record_path(submission)
    try:
        return Record.read(path) if _key_path(path).read_text() == key else None
    except (OSError, CourseError):
        return None


def _keep(run: ClassRun, submission: Submission, record: Record, key: str) -> None:
    path = run.record_path(submission)
    record.write(path)
    _key_path(path).parent.mkdir(exist_ok=True)
    _key_path(path).write_text(key)


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


def _sweep(run: ClassRun) -> None:
    """Remove what a killed run left: its scratch folder, and records that were never finished."""
    shutil.rmtree(run.scratch, ignore_errors=True)
    for partial in (run.output / "records").glob(f"*/{PARTIAL}*"):
        partial.unlink(missing_ok=True)
