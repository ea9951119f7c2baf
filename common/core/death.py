"""A process that ends with the one that started it, however that ends; and one that inherits orphans.

The walls around student code do the same for themselves: they import nothing of this repository.
"""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(parent: int, by: signal.Signals = signal.SIGKILL) -> None:
    """In a new process: get the signal `by` when its parent, the process `parent`, dies."""
    ask_for_signal(by)
    if os.getppid() != parent:  # it died before the request was made
        os._exit(1)


def ask_for_signal(number: signal.Signals) -> None:
    """Of the kernel, when this process's parent dies."""
    _libc.prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans(adopt: bool) -> None:
    """Whether descendants whose parents have died become this process's children, and not init's."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, int(adopt))
