"""Grades many submissions: in parallel on the virtual GPU, one at a time on a GPU, resumable at any point.

OUTPUT/records/EXERCISE/STUDENT.json     the record, written whole the moment it is there
OUTPUT/records/EXERCISE/.keys/STUDENT    what it was made from; written after it, so a missing or other key
                                         only ever means that a submission is graded again
OUTPUT/.scratch/                         what is being graded now; swept by the next run
"""

from __future__ import annotations

import dataclasses
import datetime
import fcntl
import hashlib
import os
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from common.core.cpu_time import COUNTED
from common.core.errors import CourseError, MachineOverloaded
from common.core.files import PARTIAL
from grader.classes.grading_process import DEFAULT_GRADER, GradingProcess, Job, Orphans, last_line
from grader.classes.progress import RunProgress, run_progress
from grader.classes.submissions import Submission, kernel_name, read_source
from grader.records.device_info import DeviceInfo
from grader.records.record import VERSION, Record
from grader.spec import Exercise
from grader.spec.names import file_name
from grader.words.text import one_line

UNGRADED = "could not be graded"
UNREADABLE = "unreadable submission"
_TICK_SECONDS = 0.2
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

    @property
    def scratch(self) -> Path:
        return self.output / ".scratch"

    def record_path(self, submission: Submission) -> Path:
        folder = file_name(submission.exercise or "unknown")
        return self.output / "records" / folder / f"{file_name(submission.student)}.json"


@dataclass(frozen=True)
class _Task:
    """A submission whose bytes have been read: the same bytes are hashed and graded."""

    submission: Submission
    data: bytes
    key: str

    @property
    def name(self) -> str:
        return f"{one_line(self.submission.student, 40)} {self.submission.exercise}"


def grade_all(run: ClassRun, submissions: Sequence[Submission]) -> list[Record]:
    """A record for every submission, in their order. Those graded before, from the same bytes, are kept."""
    with _owned(run):
        done: dict[Submission, Record] = {}
        tasks: list[_Task] = []
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
                closing(_graded(run, tasks, progress)) as graded,
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


def _prepare(run: ClassRun, submission: Submission) -> Record | _Task:
    """The record if there is one already or grading cannot change it; else the task."""
    try:
        data = read_source(submission)
    except CourseError as problem:
        record = _bare_record(run, submission, f"{UNREADABLE}: {problem}")
        _keep(run, submission, record, "")
        return record
    key = _key(run, submission, data)
    kept = None if run.fresh else _kept(run, submission, key)
    return kept or _Task(submission, data, key)


def _graded(
    run: ClassRun, tasks: Sequence[_Task], progress: RunProgress
) -> Generator[tuple[_Task, Record], None, None]:
    """Yields every task with its record when it is done."""
    places = _places(run, len(tasks))
    waiting = list(reversed(tasks))
    running: dict[int, tuple[_Task, GradingProcess]] = {}
    try:
        while waiting or running:
            for place, cpus in enumerate(places):
                if place not in running and waiting:
                    task = waiting.pop()
                    running[place] = (task, _start(run, task, place, cpus))
            wait([process.sentinel for _, process in running.values()], timeout=_TICK_SECONDS)
            for place, (task, process) in list(running.items()):
                if text := process.latest_progress():
                    progress.says(task.name, text)
                late = process.limit.over()
                if process.ended or late:
                    del running[place]
                    yield task, _collect(run, task, process, late=late and not process.ended)
    finally:
        for _, process in running.values():
            process.kill()
            process.close()


def _places(run: ClassRun, tasks: int) -> list[list[int]]:
    """The CPUs of each process that may run at once: engine, torch and compiler use all that they get."""
    cpus = sorted(os.sched_getaffinity(0))
    most = min(run.jobs or len(cpus), tasks) if run.device.modelled else 1
    return [cpus[index::most] or [cpus[index % len(cpus)]] for index in range(most)]


def _start(run: ClassRun, task: _Task, place: int, cpus: Sequence[int]) -> GradingProcess:
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
        seed=run.seed,
        grader=run.grader,
    )
    return GradingProcess(job, run.wall_seconds)


def _collect(run: ClassRun, task: _Task, process: GradingProcess, *, late: bool) -> Record:
    """The record that a process wrote, or one with the reason why there is none."""
    process.kill()
    reason = _lateness(process) if late else _ending(process)
    seconds = process.seconds
    process.close()
    try:
        return Record.read(process.job.record)
    except CourseError:
        record = _bare_record(run, task.submission, UNGRADED)
        last = one_line(last_line(process.job))
        record.flags.append(f"{UNGRADED}: {reason}" + (f" ({last})" if last else ""))
        record.source = task.data.decode()
        record.source_sha256 = hashlib.sha256(task.data).hexdigest()
        record.seconds = seconds
        return record


def _may_succeed_later(record: Record) -> bool:
    """Whether the machine is at fault: then the next run grades the submission again."""
    return record.verdict == UNGRADED and any(MachineOverloaded.words in flag for flag in record.flags)


def _lateness(process: GradingProcess) -> str:
    if process.limit.starved:
        return f"{MachineOverloaded.words}: grading got only {process.limit.got}, and was stopped"
    return f"grading took longer than {process.limit.seconds:g} s {COUNTED} and was stopped"


def _ending(process: GradingProcess) -> str:
    code = process.exitcode
    if code is not None and code < 0:
        return f"the grading process was killed by signal {-code}"
    return f"the grading process ended with status {code} and left no record"


def _bare_record(run: ClassRun, submission: Submission, verdict: str) -> Record:
    exercise = run.exercises.get(submission.exercise)
    return Record(
        submission=submission.student,
        exercise=submission.exercise,
        device=dataclasses.replace(run.device),
        verdict=verdict,
        max_points=exercise.max_points if exercise else 0.0,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


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
