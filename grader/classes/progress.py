"""Progress of a class run: a bar on a terminal with rich, else one line per submission."""

from __future__ import annotations

import importlib.util
import sys
import time
from types import TracebackType
from typing import Any, Protocol

from grader.words import numbers
from grader.words.text import one_line

_MINUTE = 60.0


class RunProgress(Protocol):
    """Shows the progress of a run."""

    def __enter__(self) -> RunProgress: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def says(self, name: str, text: str) -> None:
        """A running submission is now at `text`."""

    def workers(self, count: int) -> None:
        """So many submissions can be graded at once now."""

    def note(self, text: str) -> None:
        """Something about the run itself: a machine that was lost or refused."""

    def finished(self, name: str, verdict: str) -> None:
        """A submission has its verdict."""


class Pace:
    """How fast a run is: what is done, by how many workers, and how long the rest takes."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.workers = total, 0, 0
        self._started = time.monotonic()

    def __str__(self) -> str:
        """ "4 workers, 12.0 per minute, about 3 min left"; what is not known yet is left out."""
        parts = [numbers.counted(self.workers, "worker")] if self.workers else []
        if self.done:
            seconds = max(time.monotonic() - self._started, 1e-3)
            parts.append(f"{self.done / seconds * _MINUTE:.1f} per minute")
            if rest := self.total - self.done:
                parts.append(f"about {numbers.duration(seconds / self.done * rest)} left")
        return ", ".join(parts)


class PlainProgress:
    """Lines on stderr, with the rate and an estimate of the time left."""

    def __init__(self, total: int) -> None:
        self._pace = Pace(total)

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def says(self, name: str, text: str) -> None:
        """Not shown: too much for a log."""

    def workers(self, count: int) -> None:
        self._pace.workers = count

    def note(self, text: str) -> None:
        print(f"note: {text}", file=sys.stderr, flush=True)

    def finished(self, name: str, verdict: str) -> None:
        self._pace.done += 1
        pace = f" ({self._pace})" if self._pace.done < self._pace.total else ""
        count = f"[{self._pace.done}/{self._pace.total}]"
        print(f"{count} {name}: {one_line(verdict)}{pace}", file=sys.stderr, flush=True)


class BarProgress:
    """rich's bar, and beside it how fast the run is and what is being graded now."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._pace = Pace(total)
        self._bar: Any = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[pace]}", markup=False),
            TextColumn("{task.fields[now]}", markup=False),
            console=Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=total, now="", pace="")

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.update(self._task, now="")
        self._bar.stop()

    def says(self, name: str, text: str) -> None:
        self._bar.update(self._task, pace=str(self._pace), now=one_line(f"{name}: {text}", 60))

    def workers(self, count: int) -> None:
        self._pace.workers = count
        self._bar.update(self._task, pace=str(self._pace))

    def note(self, text: str) -> None:
        self._bar.console.print(f"note: {text}", markup=False, highlight=False)

    def finished(self, name: str, verdict: str) -> None:
        self._pace.done += 1
        now = one_line(f"{name}: {verdict}", 60)
        self._bar.update(self._task, advance=1, pace=str(self._pace), now=now)


def run_progress(total: int) -> RunProgress:
    if sys.stderr.isatty() and importlib.util.find_spec("rich"):
        return BarProgress(total)
    return PlainProgress(total)
