"""Look for what the exercise teaches, in counters and ptxas figures that the submission cannot touch."""

from __future__ import annotations

from collections.abc import Sequence

from common.build import KernelResources
from grader.device import Outcome
from grader.evidence import Evidence
from grader.record import MechanismResult
from grader.spec import Case, Exercise, Mechanism


def mechanism_case(exercise: Exercise) -> Case:
    if not exercise.mechanism_case:
        return exercise.cases[0]
    return next(case for case in exercise.cases if case.name == exercise.mechanism_case)


def look(
    mechanisms: Sequence[Mechanism], case: Case, outcome: Outcome, resources: Sequence[KernelResources]
) -> list[MechanismResult]:
    """One result for each mechanism, from one call of the submission on the virtual GPU."""
    if not outcome.ok:
        return [MechanismResult(m.name, False, f"the call failed: {outcome.message}") for m in mechanisms]
    evidence = Evidence(case, outcome.report.launches, resources, outcome.runtime_copies)
    results = []
    for mechanism in mechanisms:
        lack = mechanism.look(evidence)
        results.append(MechanismResult(mechanism.name, lack is None, lack or ""))
    return results
