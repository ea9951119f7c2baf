"""What all runs of one submission share: the time left for its cases, and why its library could not be
loaded."""

from __future__ import annotations

import math
from dataclasses import dataclass

from common.core.cpu_time import COUNTED
from grader.devices.session import Outcome

CALL_SECONDS = 20.0
_LEAST_SECONDS = 1.0


@dataclass
class TimeBudget:
    """`unloadable` is the problem with loading the library, which is then not tried again. Only CPU time of
    the calls' own processes counts: no submission pays for a busy machine or for our references."""

    seconds: float = math.inf
    unloadable: str = ""
    spent: float = 0.0

    def spend(self, outcome: Outcome) -> Outcome:
        """Count the outcome's time and return the outcome."""
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
            f"all cases together may take {self.seconds:.0f} s {COUNTED} here. That was used up with "
            f"{done} of {of} done: make the kernel do less work, and do not wait in it"
        )
