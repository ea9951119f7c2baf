"""Events of a grading in progress: the build, then each case, in the order of the exercise's tasks, whatever
the order in which they run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from common.virtual_gpu.report import Finding
from grader.records.record import CaseResult


@dataclass(frozen=True)
class BuildDone:
    """`diagnostics` are the compiler's messages, as in a record."""

    built: bool
    seconds: float
    diagnostics: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class CaseDone:
    """A case of a step, or of the whole where `step` is empty."""

    step: str
    result: CaseResult
    findings: Sequence[Finding]


@dataclass(frozen=True)
class TaskDone:
    """All cases that were run of a step, or of the whole."""

    step: str
    results: Sequence[CaseResult]


Event = BuildDone | CaseDone | TaskDone
OnEvent = Callable[[Event], None]


def ignore(event: Event) -> None:
    """For callers that need only the record."""


class InOrder:
    """Passes on events of parts that run in parallel: those of a part once all earlier parts are over."""

    def __init__(self, on_event: OnEvent, parts: int) -> None:
        self._on_event = on_event
        self._waiting: list[list[Event]] = [[] for _ in range(parts)]
        self._over = [False] * parts
        self._turn = 0
        self._lock = threading.Lock()

    @contextmanager
    def part(self, number: int) -> Iterator[OnEvent]:
        """The callback for one part's events, while that part runs."""

        def on_event(event: Event) -> None:
            with self._lock:
                self._waiting[number].append(event)
                self._pass_on()

        try:
            yield on_event
        finally:
            with self._lock:
                self._over[number] = True
                self._pass_on()

    def _pass_on(self) -> None:
        while self._turn < len(self._waiting):
            for event in self._waiting[self._turn]:
                self._on_event(event)
            self._waiting[self._turn].clear()
            if not self._over[self._turn]:
                return
            self._turn += 1
