"""What is known of a kernel and of the one that it would replace, as data: criteria look at nothing else.

Whatever could not be found out says why in `lack`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

VIRTUAL_GPU, MEMCHECK, RACECHECK = "virtual GPU", "memcheck", "racecheck"  # tools that look for mistakes


@dataclass(frozen=True)
class Times:
    """Seconds a call of both, taken in turns. Modelled times do not vary: there is one of each."""

    theirs: Sequence[float] = ()
    mine: Sequence[float] = ()
    modelled: bool = False
    lack: str = ""
    notes: Sequence[str] = ()  # how it was timed

    @property
    def their_median(self) -> float:
        return float(np.median(self.theirs))

    @property
    def my_median(self) -> float:
        return float(np.median(self.mine))


@dataclass(frozen=True)
class Counters:
    """Figures of one call of each, by name. `lack` is about those that are not there."""

    theirs: Mapping[str, float] = field(default_factory=dict)
    mine: Mapping[str, float] = field(default_factory=dict)
    lack: str = ""


@dataclass(frozen=True)
class CaseError:
    """Over all rows of a case's output, the largest norm of the error over the norm of the row."""

    case: str
    error: float
    problem: str = ""  # why there is no error to speak of: it crashed, or changed its inputs
    right: bool = True  # by the exercise's own rule, which may be stricter than a gate's


@dataclass(frozen=True)
class Look:
    """What one checking tool had to say over `calls` calls."""

    tool: str
    calls: int = 0
    findings: Sequence[str] = ()
    lack: str = ""


@dataclass(frozen=True)
class Taken:
    """What the kernels of a call take at most: registers a thread, bytes of shared memory a block, bytes of
    registers spilled to memory."""

    registers: int = 0
    shared: int = 0
    spilled: int = 0
    lack: str = ""


@dataclass(frozen=True)
class Free:
    """The same file with macros that the limits forbid: what it takes, and its time in turns with that of the
    file as it stands."""

    defines: Mapping[str, int] = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)
    times: Times = field(default_factory=Times)  # `theirs` are the file's own
    lack: str = ""


@dataclass(frozen=True)
class Measured:
    times: Times
    counters: Counters
    errors: Sequence[CaseError]
    looks: Sequence[Look]
    taken: Taken
    free: Free
