"""Decides from all criteria whether to keep the kernel or to fall back to the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.gate.measured import Measured
from grader.gate.spec import MET, MISSED, NOT_ATTAINABLE, NOT_MEASURED, Finding, Gate, State


@dataclass(frozen=True)
class Judged:
    """A criterion and its finding."""

    name: str
    wanted: str
    needed: bool
    finding: Finding

    @property
    def against(self) -> bool:
        """Whether it decides against the kernel: it is missed, or needed and not measured."""
        return self.finding.state == MISSED or (self.needed and self.finding.state != MET)


@dataclass(frozen=True)
class Verdict:
    """`headline` is one line, `reasons` are those of all criteria that are not met, without repeats."""

    keep: bool
    headline: str
    criteria: Sequence[Judged]

    @property
    def reasons(self) -> list[str]:
        names: dict[tuple[State, str], list[str]] = {}
        for one in self.criteria:
            if one.finding.state != MET:
                names.setdefault((one.finding.state, one.finding.reason), []).append(one.name)
        return [f"{', '.join(those)}: {state}: {why}" for (state, why), those in names.items()]


def decide(gate: Gate, measured: Measured) -> Verdict:
    criteria = [Judged(one.name, one.wanted, one.needed, one.judge(measured)) for one in gate.criteria]
    if against := [one for one in criteria if one.against]:
        listed = ", ".join(f"{one.name} ({one.finding.state})" for one in against)
        return Verdict(False, f"fall back to {gate.replaced}: {listed}", criteria)
    met = f"{len(_in_state(criteria, MET))} of {len(criteria)} criteria met"
    left = {state: _in_state(criteria, state) for state in (NOT_ATTAINABLE, NOT_MEASURED)}
    others = "".join(f"; {state}: {', '.join(names)}" for state, names in left.items() if names)
    return Verdict(True, f"keep {gate.proposed}: {met}{others}", criteria)


def _in_state(criteria: Sequence[Judged], state: State) -> list[str]:
    return [one.name for one in criteria if one.finding.state == state]
