"""How an exercise describes its acceptance gate: `gate.py` in its folder makes a `Gate`."""

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
    """The result of a criterion: its state, the figures as text, and the reason."""

    state: State
    seen: str
    reason: str = ""


class Criterion(Protocol):
    """One condition of acceptance. A kernel is not kept if a `needed` one was not measured."""

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

    replaced: str  # the baseline's name
    proposed: str  # the name of the kernel that would replace it
    case: Case  # of the exercise's bench: where both are timed, counted and examined
    cases: tuple[Case, ...]  # where errors are measured
    checked: tuple[Case, ...]  # small ones, for slow tools
    criteria: tuple[Criterion, ...]
    free: Mapping[str, int]  # macros of a configuration without limits
