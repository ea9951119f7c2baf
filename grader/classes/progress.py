"""Progress of a class run: a bar on a terminal with rich, else one line per submission."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType
from typing import Any, Protocol

from grader.words import numbers
from grader.words.text import one_line


class RunProgress(Protocol):
    """Shows the progress of a run."""

    def __enter__(self) -> RunProgress: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def says(self, name: str, text: str) -> None:
        """A running submission is now at `text`."""

    def finished(self, name: str, verdict: str) -> None:
        """A submission has its verdict."""


class PlainProgress:
    """Lines on stderr, with an estimate of the time left."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._started = time.monotonic()

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def says(self, name: str, text: str) -> None:
        """Not shown: too much for a log."""

    def finished(self, name: str, verdict: str) -> None:
        self._done += 1
        rest = self._total - self._done
        left = (time.monotonic() - self._started) / self._done * rest
        eta = f" (about {numbers.duration(left)} left)" if rest else ""
        print(f"[{self._done}/{self._total}] {name}: {one_line(verdict)}{eta}", file=sys.stderr, flush=True)


class BarProgress:
    """rich's bar, and beside it what is being graded now."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._bar: Any = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[now]}", markup=False),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=total, now="")

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.update(self._task, now="")
        self._bar.stop()

    def says(self, name: str, text: str) -> None:
        self._bar.update(self._task, now=one_line(f"{name}: {text}", 60))

    def finished(self, name: str, verdict: str) -> None:
        self._bar.update(self._task, advance=1, now=one_line(f"{name}: {verdict}", 60))


def run_progress(total: int) -> RunProgress:
    if sys.stderr.isatty() and importlib.util.find_spec("rich"):
        return BarProgress(total)
    return PlainProgress(total)
