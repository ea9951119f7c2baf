"""Failures of a worker, as a reason and a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from common.core.cpu_time import COUNTED
from common.core.errors import CourseError, MachineOverloaded
from common.worker.process import WorkerDied, WorkerMisbehaved, WorkerStopped, WorkerTimeout

T = TypeVar("T")


class CallFailed(CourseError):
    """A worker did not carry out its orders; `reason` is a word, as in an Outcome."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class EndedFromOutside(CourseError):
    """A process was ended by a signal that nobody here sends. This machine may have done it, when memory was
    short, and then the submission is not at fault; so its call is repeated, a few times."""


def failure(problem: CourseError, entry: str, seconds: float, otherwise: str = "entry") -> CallFailed:
    """`otherwise` is the reason where the worker still runs and reported the problem itself. Raises
    MachineOverloaded where the machine is at fault."""
    match problem:
        case MachineOverloaded():
            raise problem
        case CallFailed():
            return problem
        case WorkerTimeout():
            if problem.starved:
                raise MachineOverloaded(entry, problem.starved)
            return CallFailed("timeout", f"{entry} did not return within {seconds:g} s {COUNTED}")
        case WorkerStopped():
            return CallFailed("limit", f"{entry} was ended: it {problem.reason}")
        case WorkerDied():
            return CallFailed("crash", f"{entry} ended its process with {problem.ending}")
        case WorkerMisbehaved():
            return CallFailed("call", str(problem))
        case _:
            return CallFailed(otherwise, str(problem))


def retried(work: Callable[[], T]) -> T:
    """What `work` returns; it is tried again once if the machine was overloaded, and whenever a process was
    ended from outside: a session says so a few times only."""
    overloaded = False
    while True:
        try:
            return work()
        except EndedFromOutside:
            continue
        except MachineOverloaded:
            if overloaded:
                raise
            overloaded = True
