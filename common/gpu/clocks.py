"""Clock and throttling of the first GPU, and a lock so that one measurement at a time runs on it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Reasons that make a time worthless. Idling and the application's own clock setting are not among them.
_THROTTLING = {
    0x8: "hardware slowdown",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "power brake",
}


@dataclass(frozen=True)
class Clocks:
    """The SM clock in MHz, and why it is held down, if it is."""

    sm_mhz: int = 0
    throttled: str = ""


def read_clocks() -> Clocks:
    try:
        answer = subprocess.run(
            [
                "nvidia-smi",
                "--query-gpu=clocks.sm,clocks_event_reasons.active",
                "--format=csv,noheader,nounits",
            ],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        ).stdout.splitlines()[0]
        mhz, reasons = (part.strip() for part in answer.split(","))
        bits = int(reasons, 16)
        return Clocks(int(mhz), ", ".join(words for bit, words in _THROTTLING.items() if bits & bit))
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return Clocks()


@contextmanager
def exclusive(number: int = 0) -> Iterator[None]:
    """Wait for the GPU to be free of other measurements. The kernel drops the lock if this process dies."""
    path = Path(tempfile.gettempdir()) / f"serving-kernels-gpu-{number}-{os.getuid()}.lock"
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
