"""What whoever waits for a grade may hear while it is made: the build, then each case, in the order of the
exercise's tasks whatever the order in which they are run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
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
Hear = Callable[[Event], None]


def nobody(event: Event) -> None:
    """For whoever waits for the record alone."""


class InOrder:
    """Passes events of several tasks on, those of a later task only when the earlier ones are over."""

    def __init__(self, hear: Hear, tasks: int) -> None:
        self._hear = hear
        self._waiting: list[list[Event]] = [[] for _ in range(tasks)]
        self._over = [False] * tasks
        self._turn = 0
        self._lock = threading.Lock()

    def task(self, number: int) -> Hear:
        def hear(event: Event) -> None:
            with self._lock:
                self._waiting[number].append(event)
                self._over[number] |= isinstance(event, TaskDone)
                self._pass_on()

        return hear

    def _pass_on(self) -> None:
        while self._turn < len(self._waiting):
            for event in self._waiting[self._turn]:
                self._hear(event)
            self._waiting[self._turn].clear()
            if not self._over[self._turn]:
                return
            self._turn += 1
