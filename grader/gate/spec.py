"""The words in which an exercise describes its acceptance gate: `gate.py` in its folder makes a `Gate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from grader.gate.measured import Measured
from grader.spec import Case

State = Literal["met", "missed", "not attainable here", "not measured"]
MET: State = "met"
MISSED: State = "missed"
NOT_ATTAINABLE: State = "not attainable here"
NOT_MEASURED: State = "not measured"


@dataclass(frozen=True)
class Finding:
    """What a criterion made of the measurements: the figures as a person reads them, and why it is so."""

    state: State
    seen: str
    reason: str = ""


class Criterion(Protocol):
    """One condition of acceptance. Where it is `needed`, nothing is kept without an answer to it."""

    @property
    def name(self) -> str: ...
    @property
    def wanted(self) -> str: ...
    @property
    def needed(self) -> bool: ...

    def judge(self, measured: Measured) -> Finding: ...


@dataclass(frozen=True)
class Gate:
    """What a kernel must show to replace the exercise's baseline."""

    replaced: str  # what the baseline is called
    proposed: str  # what the kernel is called that would replace it
    case: Case  # of the exercise's bench: both are timed, counted and looked at here
    cases: tuple[Case, ...]  # the errors of all of them count
    checked: tuple[Case, ...]  # small ones, for tools that take their time
    criteria: tuple[Criterion, ...]
    free: Mapping[str, int]  # macros of a configuration that keeps to no limits
