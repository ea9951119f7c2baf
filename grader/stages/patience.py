"""What all runs of one submission share: the time that its cases may still take, and a library that no worker
could load."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

CALL_SECONDS = 20.0
VIRTUAL_SECONDS = 120.0  # all cases of a submission together; those of an honest kernel take a tenth
_LEAST_SECONDS = 1.0


@dataclass
class Patience:
    """`unloadable` says what happened when the library was loaded; it is then not tried again."""

    seconds: float = math.inf
    unloadable: str = ""

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.seconds

    @staticmethod
    def on(device: str) -> Patience:
        return Patience(VIRTUAL_SECONDS if device == "virtual" else math.inf)

    @property
    def over(self) -> bool:
        return time.monotonic() > self._deadline

    @property
    def for_a_call(self) -> float:
        """Seconds that the next call may take."""
        return min(CALL_SECONDS, max(_LEAST_SECONDS, self._deadline - time.monotonic()))

    def told(self, done: int, of: int) -> str:
        """Why the cases after `done` of them were not run."""
        return (
            f"all cases together may take {self.seconds:.0f} s here, and they were over with {done} of {of} "
            "done: let the kernel do less, and wait for nothing"
        )
