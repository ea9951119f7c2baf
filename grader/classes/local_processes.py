"""Grades submissions on this machine, each in its own process, as many at once as there are CPUs."""

from __future__ import annotations

import dataclasses
import os
import shutil
import socket
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from common.core.cpu_time import COUNTED
from common.core.errors import CourseError, MachineOverloaded
from grader.classes.executor import UNGRADED, Graded, Task, ungraded_record
from grader.classes.grading_process import GradingProcess, Job, last_line
from grader.classes.progress import RunProgress
from grader.classes.submissions import kernel_name
from grader.records.record import Record
from grader.words.text import one_line

if TYPE_CHECKING:
    from grader.classes.class_run import ClassRun

_TICK_SECONDS = 0.2


@dataclass(frozen=True)
class LocalProcesses:
    """One process per submission, as many at once as there are CPUs. `cpus` are those that may be used, all
    by default; `beside` counts the gradings that other executors run here at the same time; `gpu` is the
    number of the card to use."""

    cpus: tuple[int, ...] = ()
    beside: int = 0
    gpu: str = ""

    def graded(
        self, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> Generator[Graded, None, None]:
        """Every task with its record, as they come."""
        places = self._places(run, len(tasks))
        progress.workers(len(places))
        began = time.monotonic()
        waiting = list(reversed(tasks))
        lost: dict[Task, str] = {}  # what ended the first attempt
        running: dict[int, tuple[Task, GradingProcess]] = {}
        try:
            while waiting or running:
                for place, cpus in enumerate(places):
                    if place not in running and waiting:
                        task = waiting.pop()
                        running[place] = (task, self._start(run, task, place, cpus, len(places)))
                wait([process.sentinel for _, process in running.values()], timeout=_TICK_SECONDS)
                for place, (task, process) in list(running.items()):
                    if text := process.latest_progress():
                        progress.says(task.name, text)
                    late = process.limit.over()
                    if process.ended or late:
                        del running[place]
                        record = _collect(run, task, process, late=late and not process.ended)
                        # The grader must not break, whatever is handed in: that is our bug, or the machine's.
                        if record.verdict == UNGRADED and not late and task not in lost:
                            lost[task] = "; ".join(record.flags)
                            waiting.append(task)
                            continue
                        yield Graded(
                            task,
                            _twice(record) if task in lost else record,
                            socket.gethostname(),
                            process.started - began,
                            process.seconds,
                            (lost[task],) if task in lost else (),
                        )
        finally:
            for _, process in running.values():
                process.kill()
                process.close()

    def _places(self, run: ClassRun, tasks: int) -> list[list[int]]:
        """The CPUs of each process that may run at once: engine, torch and compiler use what they get."""
        cpus = sorted(self.cpus or os.sched_getaffinity(0))
        most = min(run.jobs or len(cpus), tasks) if run.device.modelled else 1
        return [cpus[index::most] or [cpus[index % len(cpus)]] for index in range(most)]

    def _start(
        self, run: ClassRun, task: Task, place: int, cpus: Sequence[int], at_once: int
    ) -> GradingProcess:
        scratch = run.scratch.absolute() / f"place-{place}"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        source = scratch / kernel_name(task.submission.source)
        source.write_bytes(task.data)
        job = Job(
            folder=run.exercises[task.submission.exercise].folder.absolute(),
            source=source,
            submission=task.submission.student,
            device=dataclasses.replace(run.device),
            cpus=tuple(cpus),
            scratch=scratch,
            at_once=at_once + self.beside,
            seed=run.seed_of(task.submission.exercise),
            grader=run.grader,
            gpu=self.gpu,
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
        last = one_line(last_line(process.job))
        return ungraded_record(run, task, reason + (f" ({last})" if last else ""), seconds)


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
