"""Where the submissions of a class are graded: the interface of executors, and what they have in common."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from grader.classes.progress import RunProgress
from grader.classes.submissions import Submission
from grader.records.record import Record
from grader.words.text import one_line

if TYPE_CHECKING:
    from grader.classes.class_run import ClassRun

UNGRADED = "could not be graded"


@dataclass(frozen=True)
class Task:
    """A submission whose bytes have been read: the same bytes are hashed and graded. `key` has the hashes of
    all that the record depends on."""

    submission: Submission
    data: bytes
    key: str

    @property
    def name(self) -> str:
        return task_name(self.submission)


@dataclass(frozen=True)
class Graded:
    """A task's record, and how it came to it: the machine, the seconds in the queue and in the grading, and
    why earlier attempts gave no record."""

    task: Task
    record: Record
    machine: str = ""
    waited: float = 0.0
    seconds: float = 0.0
    lost: tuple[str, ...] = ()


def task_name(submission: Submission) -> str:
    """For people: the student's name may be anything."""
    return f"{one_line(submission.student, 40)} {submission.exercise}"


class Executor(Protocol):
    """Where submissions are graded: here, or on other machines."""

    def graded(
        self, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> Generator[Graded, None, None]:
        """Every task with its record, in the order in which they end. Whatever becomes of a submission, its
        task gets a record; closing the generator ends what still runs."""
        ...


def bare_record(run: ClassRun, submission: Submission, verdict: str) -> Record:
    exercise = run.exercises.get(submission.exercise)
    return Record(
        submission=submission.student,
        exercise=submission.exercise,
        device=dataclasses.replace(run.device),
        verdict=verdict,
        max_points=exercise.max_points if exercise else 0.0,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def ungraded_record(run: ClassRun, task: Task, reason: str, seconds: float = 0.0) -> Record:
    """The record of a submission that has no other, with the reason."""
    record = bare_record(run, task.submission, UNGRADED)
    record.flags.append(f"{UNGRADED}: {reason}")
    record.source = task.data.decode()
    record.source_sha256 = hashlib.sha256(task.data).hexdigest()
    record.seed = run.seed_of(task.submission.exercise)
    record.seconds = seconds
    return record
