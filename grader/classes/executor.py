"""Grades the submissions of a class: the interface, and processes on this machine that implement it."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
import shutil
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Protocol

from common.core.cpu_time import COUNTED
from common.core.errors import CourseError, MachineOverloaded
from grader.classes.grading_process import GradingProcess, Job, last_line
from grader.classes.progress import RunProgress
from grader.classes.submissions import Submission, kernel_name
from grader.records.record import Record
from grader.words.text import one_line

if TYPE_CHECKING:
    from grader.classes.class_run import ClassRun

UNGRADED = "could not be graded"
_TICK_SECONDS = 0.2


@dataclass(frozen=True)
class Task:
    """A submission whose bytes have been read: the same bytes are hashed and graded."""

    submission: Submission
    data: bytes
    key: str

    @property
    def name(self) -> str:
        return f"{one_line(self.submission.student, 40)} {self.submission.exercise}"


class Executor(Protocol):
    """Where submissions are graded: here, or on other machines."""

    def graded(
        self, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> Generator[tuple[Task, Record], None, None]:
        """Every task with its record, in the order in which they end. Whatever becomes of a submission, its
        task gets a record; closing the generator ends what still runs."""
        ...


class LocalProcesses:
    """One process per submission, as many at once as there are CPUs."""

    def graded(
        self, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> Generator[tuple[Task, Record], None, None]:
        """Every task with its record, as they come."""
        places = _places(run, len(tasks))
        waiting = list(reversed(tasks))
        tried: set[Task] = set()
        running: dict[int, tuple[Task, GradingProcess]] = {}
        try:
            while waiting or running:
                for place, cpus in enumerate(places):
                    if place not in running and waiting:
                        task = waiting.pop()
                        running[place] = (task, _start(run, task, place, cpus, len(places)))
                wait([process.sentinel for _, process in running.values()], timeout=_TICK_SECONDS)
                for place, (task, process) in list(running.items()):
                    if text := process.latest_progress():
                        progress.says(task.name, text)
                    late = process.limit.over()
                    if process.ended or late:
                        del running[place]
                        record = _collect(run, task, process, late=late and not process.ended)
                        # The grader must not break, whatever is handed in: that is our bug, or the machine's.
                        if record.verdict == UNGRADED and not late and task not in tried:
                            tried.add(task)
                            waiting.append(task)
                        else:
                            yield task, _twice(record) if task in tried else record
        finally:
            for _, process in running.values():
                process.kill()
                process.close()


def _places(run: ClassRun, tasks: int) -> list[list[int]]:
    """The CPUs of each process that may run at once: engine, torch and compiler use what they are given."""
    cpus = sorted(os.sched_getaffinity(0))
    most = min(run.jobs or len(cpus), tasks) if run.device.modelled else 1
    return [cpus[index::most] or [cpus[index % len(cpus)]] for index in range(most)]


def _start(run: ClassRun, task: Task, place: int, cpus: Sequence[int], at_once: int) -> GradingProcess:
    scratch = run.scratch.absolute() / f"place-{place}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    source = scratch / kernel_name(task.submission.source)
    source.write_bytes(task.data)
    job = Job(
        folder=run.exercises[task.submission.exercise].folder.absolute(),
        source=source,
        submission=task.submission.student,
        device=run.device,
        cpus=tuple(cpus),
        scratch=scratch,
        at_once=at_once,
        seed=run.seed_of(task.submission.exercise),
        grader=run.grader,
    )
    return GradingProcess(job, run.wall_seconds)


def _collect(run: ClassRun, task: Task, process: GradingProcess, *, late: bool) -> Record:
    """The record that a process left, or one that says why there is none."""
    process.kill()
    reason = _lateness(process) if late else _ending(process)
    seconds = process.seconds
    process.close()
    try:
        return Record.read(process.job.record)
    except CourseError:
        record = bare_record(run, task.submission, UNGRADED)
        last = one_line(last_line(process.job))
        record.flags.append(f"{UNGRADED}: {reason}" + (f" ({last})" if last else ""))
        record.source = task.data.decode()
        record.source_sha256 = hashlib.sha256(task.data).hexdigest()
        record.seed = run.seed_of(task.submission.exercise)
        record.seconds = seconds
        return record


def _twice(record: Record) -> Record:
    if record.verdict == UNGRADED:
        record.flags = [f"{flag}; tried twice" for flag in record.flags]
    return record


def _lateness(process: GradingProcess) -> str:
    if process.limit.starved:
        return f"{MachineOverloaded.words}: grading got only {process.limit.got}, and was stopped"
    return f"grading took longer than {process.limit.seconds:g} s {COUNTED} and was stopped"


def _ending(process: GradingProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"the grading process was killed by signal {-code}"
    return f"the grading process ended with status {code} and left no record"


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
