"""What a worker did instead of answering, as a verdict's word and sentence."""

from __future__ import annotations

from common.errors import CourseError
from common.virtual_gpu.worker_process import WorkerDied, WorkerMisbehaved, WorkerStopped, WorkerTimeout


class CallFailed(CourseError):
    """A worker did not do what was asked of it; `reason` is a word, as in an Outcome."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def failure(problem: CourseError, entry: str, seconds: float, otherwise: str = "entry") -> CallFailed:
    """`otherwise` is the word where the worker is well and only says that it could not."""
    match problem:
        case CallFailed():
            return problem
        case WorkerTimeout():
            return CallFailed("timeout", f"{entry} did not return within {seconds:g} s")
        case WorkerStopped():
            return CallFailed("limit", f"{entry} was ended: it {problem.reason}")
        case WorkerDied():
            return CallFailed("crash", f"{entry} ended its process with {problem.ending}")
        case WorkerMisbehaved():
            return CallFailed("call", str(problem))
        case _:
            return CallFailed(otherwise, str(problem))
