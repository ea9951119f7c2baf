"""Look for what the exercise teaches, in counters and ptxas figures that the submission cannot touch."""

from __future__ import annotations

from collections.abc import Sequence

from common.build.resources import KernelResources
from grader.devices.evidence import evidence_of
from grader.pipeline.judging.cases import CaseRun
from grader.records.record import MechanismResult
from grader.spec import Case, Exercise, Mechanism, SeenInEveryCall, Task


def mechanism_cases(exercise: Exercise) -> list[Case]:
    """The last is the one that a profile shows."""
    last = exercise.case(exercise.mechanism_case) if exercise.mechanism_case else exercise.cases[0]
    return [*map(exercise.case, exercise.more_mechanism_cases), last]


def look_everywhere(
    mechanisms: Sequence[Mechanism],
    results: Sequence[MechanismResult],
    task: Task,
    runs: Sequence[CaseRun],
    resources: Sequence[KernelResources],
) -> list[MechanismResult]:
    """The results, and what calls of `runs` lack of those mechanisms that any call shows."""
    cases = {case.name: case for case in task.cases}
    found = []
    for mechanism, result in zip(mechanisms, results, strict=True):
        if result.passed and isinstance(mechanism, SeenInEveryCall):
            for run in runs:
                case = cases.get(run.result.name) or Case(run.result.name, run.result.sizes)
                lacks = [
                    mechanism.look_anywhere(evidence_of(case, outcome, resources))
                    for outcome in run.outcomes
                    if outcome.ok and outcome.report.profile
                ]
                if lack := next(filter(None, lacks), None):
                    result = MechanismResult(mechanism.name, False, lack)
                    break
        found.append(result)
    return found
