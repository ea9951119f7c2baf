"""Looks for mechanisms in one call: in counters and ptxas figures, which the submission cannot change."""

from __future__ import annotations

from collections.abc import Sequence

from common.build.resources import KernelResources
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from grader.devices.session import Outcome
from grader.records.record import MechanismResult
from grader.spec import Case, Mechanism
from grader.spec.evidence import Evidence


def look(
    mechanisms: Sequence[Mechanism], case: Case, outcome: Outcome, resources: Sequence[KernelResources]
) -> list[MechanismResult]:
    """One result for each mechanism, from one call of the submission on the virtual GPU."""
    if not outcome.ok:
        return [MechanismResult(m.name, False, f"the call failed: {outcome.message}") for m in mechanisms]
    evidence = evidence_of(case, outcome, resources)
    results = []
    for mechanism in mechanisms:
        lack = mechanism.look(evidence)
        results.append(MechanismResult(mechanism.name, lack is None, lack or ""))
    return results


def evidence_of(case: Case, outcome: Outcome, resources: Sequence[KernelResources]) -> Evidence:
    sms = find_profile(outcome.report.profile or DEFAULT_PROFILE).sms
    return Evidence(case, outcome.report.launches, resources, outcome.runtime_copies, sms)
