"""All measurements of a kernel and of the one that it would replace, as data: the only input of criteria.

What could not be measured has the reason in `lack`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

VIRTUAL_GPU, MEMCHECK, RACECHECK = "virtual GPU", "memcheck", "racecheck"  # tools that look for mistakes


@dataclass(frozen=True)
class Times:
    """Interleaved seconds per call of both. Modelled times do not vary: there is one of each."""

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
    """Figures of one call of each, by name. `lack` explains missing ones."""

    theirs: Mapping[str, float] = field(default_factory=dict)
    mine: Mapping[str, float] = field(default_factory=dict)
    lack: str = ""


@dataclass(frozen=True)
class CaseError:
    """The largest relative error over all rows of a case's output: norm of the error over norm of the row."""

    case: str
    error: float
    problem: str = ""  # why there is no error: it crashed, or changed its inputs
    right: bool = True  # by the exercise's own rule, which may be stricter than a gate's


@dataclass(frozen=True)
class Look:
    """The findings of one checking tool over `calls` calls."""

    tool: str
    calls: int = 0
    findings: Sequence[str] = ()
    lack: str = ""


@dataclass(frozen=True)
class Taken:
    """The largest resources of a call's kernels: registers per thread, bytes of shared memory per block,
    bytes of spilled registers."""

    registers: int = 0
    shared: int = 0
    spilled: int = 0
    lack: str = ""


@dataclass(frozen=True)
class Free:
    """The same file with macros that exceed the limits: its resources, and its time interleaved with that of
    the original file."""

    defines: Mapping[str, int] = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)
    times: Times = field(default_factory=Times)  # `theirs` is the original file
    lack: str = ""


@dataclass(frozen=True)
class Measured:
    times: Times
    counters: Counters
    errors: Sequence[CaseError]
    looks: Sequence[Look]
    taken: Taken
    free: Free
