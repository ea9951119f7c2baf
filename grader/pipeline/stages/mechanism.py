"""Look for what the exercise teaches, in counters and ptxas figures that the submission cannot touch."""

from __future__ import annotations

from collections.abc import Sequence

from common.build.resources import KernelResources
from grader.devices.session import Outcome
from grader.pipeline.stages.correctness import CaseRun
from grader.records.record import MechanismResult
from grader.spec import Case, Exercise, Mechanism, SeenInEveryCall, Task
from grader.spec.evidence import Evidence


def mechanism_case(exercise: Exercise) -> Case:
    return exercise.case(exercise.mechanism_case) if exercise.mechanism_case else exercise.cases[0]


def look(
    mechanisms: Sequence[Mechanism], case: Case, outcome: Outcome, resources: Sequence[KernelResources]
) -> list[MechanismResult]:
    """One result for each mechanism, from one call of the submission on the virtual GPU."""
    if not outcome.ok:
        return [MechanismResult(m.name, False, f"the call failed: {outcome.message}") for m in mechanisms]
    evidence = _evidence(case, outcome, resources)
    results = []
    for mechanism in mechanisms:
        lack = mechanism.look(evidence)
        results.append(MechanismResult(mechanism.name, lack is None, lack or ""))
    return results


def _evidence(case: Case, outcome: Outcome, resources: Sequence[KernelResources]) -> Evidence:
    return Evidence(case, outcome.report.launches, resources, outcome.runtime_copies)


def look_everywhere(
    mechanisms: Sequence[Mechanism],
    results: Sequence[MechanismResult],
    task: Task,
    runs: Sequence[CaseRun],
    resources: Sequence[KernelResources],
) -> list[MechanismResult]:
    """The results, with what the calls of `runs` lack of mechanisms that can be seen in any call."""
    cases = {case.name: case for case in task.cases}
    found = []
    for mechanism, result in zip(mechanisms, results, strict=True):
        if result.passed and isinstance(mechanism, SeenInEveryCall):
            for run in runs:
                case = cases.get(run.result.name) or Case(run.result.name, run.result.sizes)
                lacks = [
                    mechanism.look_anywhere(_evidence(case, outcome, resources))
                    for outcome in run.outcomes
                    if outcome.ok and outcome.report.profile
                ]
                if lack := next(filter(None, lacks), None):
                    result = MechanismResult(mechanism.name, False, lack)
                    break
        found.append(result)
    return found
