"""What must be seen in a kernel, how fast is fast, and what each part is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from grader.spec.evidence import Evidence

TimingProtocol = Literal["cold", "graph"]


class Mechanism(Protocol):
    """Something the exercise teaches, looked for in what the virtual GPU and ptxas saw of the kernel."""

    @property
    def name(self) -> str: ...

    def look(self, evidence: Evidence) -> str | None:
        """None when it is there, else a sentence for the student: what was seen and what was wanted."""
        ...


@runtime_checkable
class SeenInEveryCall(Mechanism, Protocol):
    """A mechanism that is looked for in every call of every case, not only where all is counted."""

    def look_anywhere(self, evidence: Evidence) -> str | None:
        """As `look`, at a call that may be one with little to do, or nothing."""
        ...


BASELINE = "baseline"


@dataclass(frozen=True)
class Speedup:
    """A ratio over something else, as a geometric mean over bench cases, none of them under `least_each`.

    With `each`, pass mark and full marks are held against the slowest of the cases instead of their mean.
    """

    cases: tuple[str, ...]
    passing: float
    full: float
    least_each: float = 1.0
    protocol: TimingProtocol = "cold"
    share: float = 1.0  # of the points for speed
    # What must hold on the virtual GPU when its modelled ratio is too close to the target to call.
    structure: tuple[Mechanism, ...] = ()
    against: str = BASELINE  # or the name of one of the exercise's alternatives or yardsticks
    each: bool = False

    @property
    def gpu_only(self) -> bool:
        """Only the baseline is a kernel that the virtual GPU can run; alternatives are torch calls."""
        return self.against != BASELINE


@dataclass(frozen=True)
class CopyBandwidth:
    """A fraction of the bandwidth that a plain copy reaches on the same device in the same run.

    With `step`, of that step's entry at one of its own bench cases, timed alone.
    """

    case: str
    fraction: float
    share: float = 1.0
    step: str = ""  # the entry of a step
    gpu_only: bool = True


@dataclass(frozen=True)
class HostTime:
    """The host's time in a call of the entry, in each case at most `at_most` times that of an alternative."""

    against: str
    cases: tuple[str, ...]
    at_most: float = 1.0
    share: float = 1.0
    gpu_only: bool = True


Target = Speedup | CopyBandwidth | HostTime


@dataclass(frozen=True)
class Points:
    """What each part is worth. Clean, mechanism and speed count only for a kernel that is correct."""

    correct: float
    clean: float
    mechanism: float
    speed: float

    @property
    def total(self) -> float:
        return self.correct + self.clean + self.mechanism + self.speed
