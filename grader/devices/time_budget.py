"""What all runs of one submission share: the time that its cases may still take, and a library that no worker
could load."""

from __future__ import annotations

import math
from dataclasses import dataclass

from common.core.cpu_time import COUNTED
from grader.devices.session import Outcome

CALL_SECONDS = 20.0
_LEAST_SECONDS = 1.0


@dataclass
class TimeBudget:
    """`unloadable` says what happened when the library was loaded; it is then not tried again. What is spent
    is the time of the calls' own processes: no submission pays for a busy machine, or for our references."""

    seconds: float = math.inf
    unloadable: str = ""
    spent: float = 0.0

    def spend(self, outcome: Outcome) -> Outcome:
        """The same outcome, its time counted."""
        self.spent += outcome.seconds
        return outcome

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds

    @property
    def for_a_call(self) -> float:
        """Seconds that the next call may take."""
        return min(CALL_SECONDS, max(_LEAST_SECONDS, self.seconds - self.spent))

    def why_over(self, done: int, of: int) -> str:
        """Why the cases after `done` of them were not run."""
        return (
            f"all cases together may take {self.seconds:.0f} s {COUNTED} here, and they were over with "
            f"{done} of {of} done: let the kernel do less, and wait for nothing"
        )
