"""One line of progress: rewritten in a notebook's output, or at a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from common.core.progress import Progress
from grader.words.text import one_line

_WIDTH = 120


class Line(Protocol):
    def update(self, state: str) -> None: ...

    def finish(self, state: str) -> None: ...


class NotebookLine:
    """Shown as an updatable IPython display; it disappears when the work is done."""

    def __init__(self, label: str) -> None:
        from IPython.display import display

        self._label = label
        self._started = time.monotonic()
        self._handle: Any = display(_plain(f"{label} …"), raw=True, display_id=True)

    def update(self, state: str) -> None:
        seconds = time.monotonic() - self._started
        self._show(one_line(f"{self._label}: {state} ({seconds:.0f} s)", _WIDTH))

    def finish(self, state: str) -> None:
        self._show("")

    def _show(self, text: str) -> None:
        self._handle.update(_plain(text), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this. IPython is not imported for this: a kernel has imported it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")


@contextmanager
def line(label: str) -> Iterator[Line]:
    shown: Line = NotebookLine(label) if in_notebook() else Progress(label)
    try:
        yield shown
    finally:
        shown.finish("done")
