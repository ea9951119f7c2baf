"""A line on stderr about work that takes longer than a moment; silence about work that does not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Notify = Callable[[str], None]  # gets a few words about what long work is doing now

_SILENT_SECONDS = 1.0


class Progress:
    """`update` may be called often. A terminal gets one line rewritten in place, a log two lines in all."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = time.monotonic()
        self._shown = ""

    def update(self, state: str) -> None:
        seconds = time.monotonic() - self._started
        if seconds < _SILENT_SECONDS:
            return
        if sys.stderr.isatty():
            self._rewrite(f"{self._label}: {state} ({seconds:.0f} s)")
        elif not self._shown:
            self._shown = f"{self._label}: {state}"
            print(self._shown, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for something to be printed; the line comes back with the next update."""
        if self._shown and sys.stderr.isatty():
            print("\r" + " " * len(self._shown), end="\r", file=sys.stderr, flush=True)
            self._shown = " "

    def finish(self, state: str) -> None:
        """Close the line, if there ever was one."""
        if not self._shown:
            return
        text = f"{self._label}: {state} after {time.monotonic() - self._started:.1f} s"
        if sys.stderr.isatty():
            self._rewrite(text)
            print(file=sys.stderr)
        else:
            print(text, file=sys.stderr, flush=True)
        self._shown = ""

    def _rewrite(self, text: str) -> None:
        if text != self._shown:
            print("\r" + text.ljust(len(self._shown)), end="", file=sys.stderr, flush=True)
            self._shown = text
