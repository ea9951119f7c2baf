"""Mechanisms, speed targets, and the points of each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from grader.spec.evidence import Evidence

TimingProtocol = Literal["cold", "graph"]
CALLS_IN_A_GRAPH = 16  # that are timed together, each on its own memory


class Mechanism(Protocol):
    """A technique that the exercise teaches, looked for in figures from the virtual GPU and ptxas."""

    @property
    def name(self) -> str: ...

    def look(self, evidence: Evidence) -> str | None:
        """None when it is there, else a sentence for the student: what was seen and what was expected."""
        ...


@runtime_checkable
class SeenInEveryCall(Mechanism, Protocol):
    """A mechanism that is looked for in every call of every case, not only where all counters are on."""

    def look_anywhere(self, evidence: Evidence) -> str | None:
        """Like `look`, for a call that may have little or nothing to do."""
        ...


BASELINE = "baseline"


@dataclass(frozen=True)
class Speedup:
    """A speedup over something else: the geometric mean over bench cases, each of them at least `least_each`.

    With `each`, pass mark and full marks apply to the slowest case instead of the mean.
    """

    cases: tuple[str, ...]
    passing: float
    full: float
    least_each: float = 1.0
    protocol: TimingProtocol = "cold"
    share: float = 1.0  # of the points for speed
    # Decides on the virtual GPU when the modelled ratio is within the model's error of the target.
    structure: tuple[Mechanism, ...] = ()
    against: str = BASELINE  # or the name of one of the exercise's alternatives or yardsticks
    each: bool = False

    @property
    def gpu_only(self) -> bool:
        """True for all but the baseline: alternatives are torch calls, which the virtual GPU cannot run."""
        return self.against != BASELINE


@dataclass(frozen=True)
class CopyBandwidth:
    """A fraction of the bandwidth of a plain copy on the same device in the same run.

    With `step`, that step's entry is timed alone, at one of its own bench cases.
    """

    case: str
    fraction: float
    share: float = 1.0
    step: str = ""  # the entry of a step
    gpu_only: bool = True


@dataclass(frozen=True)
class HostTime:
    """The host's time per call of the entry: in each case at most `at_most` times that of an alternative."""

    against: str
    cases: tuple[str, ...]
    at_most: float = 1.0
    share: float = 1.0
    gpu_only: bool = True


Target = Speedup | CopyBandwidth | HostTime


def cases_of(target: Target) -> tuple[str, ...]:
    """The exercise's bench cases that it is about: none where it is about a step's."""
    if isinstance(target, CopyBandwidth):
        return () if target.step else (target.case,)
    return target.cases


@dataclass(frozen=True)
class Points:
    """The points of each part. Clean, mechanism and speed count only for a correct kernel."""

    correct: float
    clean: float
    mechanism: float
    speed: float

    @property
    def total(self) -> float:
        return self.correct + self.clean + self.mechanism + self.speed
