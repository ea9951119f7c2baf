"""Shows results of `./course check` as they come: the build, then each step, or the failing case."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from common.core.progress import Progress
from grader.pipeline.events import BuildDone, CaseDone, Event, TaskDone
from grader.records.record import CaseResult
from grader.render import terminal
from grader.words import numbers


class LiveResults:
    """Prints each event once, and keeps what was `shown`. `progress` is the line below, cleared first."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.shown: set[type[Event]] = set()

    def __call__(self, event: Event) -> None:
        if text := _text(event):
            self.shown.add(type(event))
            self._progress.clear()
            print(text, flush=True)


def _text(event: Event) -> str:
    match event:
        case BuildDone(built, seconds, diagnostics):
            said = terminal.diagnostics(diagnostics)
            return f"{said}built in {numbers.seconds(seconds)}" if built else said.rstrip()
        case CaseDone(step, result) if not result.passed:
            return terminal.failure(dataclasses.replace(result, step=step)).rstrip()
        case TaskDone(step, results):
            return f"{step or 'the whole exercise'}: {_counted(results)}"
    return ""


def _counted(results: Sequence[CaseResult]) -> str:
    passed = sum(result.passed for result in results)
    took = numbers.seconds(sum(result.seconds for result in results))
    if passed == len(results):
        return f"{numbers.counted(passed, 'case')} right, {took}"
    return f"{numbers.counted(passed, 'case')} right, then one wrong, {took}"
