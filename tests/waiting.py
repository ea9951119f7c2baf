"""Waits for what comes soon, patient enough for a machine that is loaded many times over."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 120.0  # seconds: something is broken if it has not come by then


def wait_until(holds: Callable[[], object], seconds: float = LONG) -> bool:
    """Whether it came to hold in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return bool(holds())
