"""The interface of sessions. A session holds one library in a worker process and calls it."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from common.virtual_gpu.report import Report
from grader.spec import Buffers, Call


@dataclass(frozen=True)
class Outcome:
    """The result of a call. `reason` is empty when it returned 0, else a word, and `message` a sentence.

    `after` holds every buffer but scratch, read from the device itself.
    """

    reason: str = ""
    message: str = ""
    after: Buffers = field(default_factory=dict)
    report: Report = field(default_factory=Report)  # the virtual GPU's
    seconds: float = 0.0  # CPU time of the call and of all processes that worked for it
    hint: str = ""  # a sentence to add to what is said of a wrong answer

    @property
    def ok(self) -> bool:
        return not self.reason

    @property
    def runtime_copies(self) -> int:
        """Copies and fills that the call requested from the runtime, as the virtual GPU counted them."""
        return int(self.report.totals.get("copies", 0)) + int(self.report.totals.get("fills", 0))


class Session(Protocol):
    """One worker with one library."""

    def run(self, entry: str, call: Call, seconds: float) -> Outcome: ...

    def close(self) -> None:
        """End the worker. The next call gets a fresh one."""
        ...

    @property
    def output(self) -> str:
        """What the library has printed: text for the student; nothing reads it."""
        ...

    def __enter__(self) -> Session: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...
