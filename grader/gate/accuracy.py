"""Runs every case once on a device: the errors of its answers, and the virtual GPU's findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from common.core.progress import Notify
from common.virtual_gpu.report import Finding, Report
from grader.answers.compare import answer, difference
from grader.answers.tolerance import largest_row_error
from grader.devices.session import Outcome, Session
from grader.devices.time_budget import CALL_SECONDS
from grader.gate.measured import VIRTUAL_GPU, CaseError, Look
from grader.pipeline.judging import findings as checks
from grader.pipeline.judging.cases import explain
from grader.spec import Call, Case, Exercise, seeds
from grader.spec.random_inputs import Random

Draw = Callable[[str], Random]


def run_cases(
    exercise: Exercise, cases: Sequence[Case], session: Session, draw: Draw, notify: Notify
) -> tuple[list[CaseError], list[Report]]:
    """`draw` makes a source of inputs from a seed, on the device that holds them."""
    errors, reports = [], []
    for number, case in enumerate(cases):
        notify(f"case {number + 1} of {len(cases)}: {case.name}")
        call = exercise.inputs(case.size, draw(seeds.derive("gate", case.name)))
        outcome = session.run(exercise.entry, call, CALL_SECONDS)
        errors.append(_error(exercise, case, call, outcome))
        reports.append(outcome.report)
    return errors, reports


def _error(exercise: Exercise, case: Case, call: Call, outcome: Outcome) -> CaseError:
    if not outcome.ok:
        return CaseError(case.name, 0.0, explain(outcome)[1], right=False)
    wanted = answer(exercise, case.size, call)
    found = difference(exercise, case.size, call, wanted, outcome.after)
    if found is not None and found.reason != "mismatch":  # the error itself shows how large a mismatch is
        return CaseError(case.name, 0.0, found.message, right=False)
    errors = (largest_row_error(outcome.after[name], exact) for name, exact in wanted.exact.items())
    return CaseError(case.name, max(errors, default=0.0), right=found is None)


def look(reports: Sequence[Report]) -> Look:
    """The virtual GPU's findings over all these calls, without repeats."""
    return Look(VIRTUAL_GPU, len(reports), [_described(finding) for finding in checks.merge(reports)])


def _described(finding: Finding) -> str:
    place = f"{Path(finding.file).name}:{finding.line}: " if finding.file else ""
    return f"{place}{finding.message}"
