"""Results of stages, and how later stages find them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from grader.records.record import CaseResult, MechanismResult, PartResult, Speed

R = TypeVar("R", bound="Result")


@dataclass(frozen=True, kw_only=True)
class Result:
    """The result of one stage. These fields go into the record, joined with those of other stages; a stage's
    own class adds fields that only later stages need."""

    diagnostics: Sequence[dict[str, Any]] = ()
    flags: Sequence[str] = ()
    output: str = ""
    cases: Sequence[CaseResult] = ()
    findings: Sequence[dict[str, Any]] = ()
    mechanisms: Sequence[MechanismResult] = ()
    launches: Sequence[dict[str, Any]] = ()
    large_sizes: Sequence[dict[str, Any]] = ()
    launch_shapes: Sequence[dict[str, Any]] = ()
    sampled_only: Sequence[str] = ()
    lines: Sequence[dict[str, Any]] = ()
    parts: Sequence[PartResult] = ()
    speed: Speed | None = None
    correct: bool = True  # False where this stage shows that the exercise's own answers are wrong
    ends: bool = False  # nothing can be run after it


@dataclass(frozen=True)
class Results:
    """The results of the stages that have run, in order."""

    made: tuple[Result, ...] = ()

    def __iter__(self) -> Iterator[Result]:
        return iter(self.made)

    def with_(self, result: Result | None) -> Results:
        return self if result is None else Results((*self.made, result))

    def find(self, kind: type[R]) -> R | None:
        """The result of a stage, if it has run."""
        return next((result for result in self.made if isinstance(result, kind)), None)

    def of(self, kind: type[R]) -> R:
        """The result of a stage that must have run."""
        found = self.find(kind)
        assert found is not None, f"no stage has made a {kind.__name__}"
        return found

    @property
    def correct(self) -> bool:
        return all(result.correct for result in self.made)

    @property
    def speed(self) -> Speed | None:
        return next((result.speed for result in self.made if result.speed is not None), None)

    @property
    def ended(self) -> bool:
        return any(result.ends for result in self.made)
