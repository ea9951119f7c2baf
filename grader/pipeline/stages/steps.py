"""The smaller entry points on the way to the whole: each earns its points by itself, or loses them alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.virtual_gpu.report import Report
from grader.devices.time_budget import TimeBudget
from grader.pipeline.stages import checks
from grader.pipeline.stages.correctness import SEEN_ON_VIRTUAL, CaseRun
from grader.pipeline.stages.events import Hear, TaskDone, nobody
from grader.pipeline.stages.points import MISSING
from grader.pipeline.stages.task import Tell, check_between_blocks, check_on_virtual, look_at, run_on
from grader.records.record import CaseResult, MechanismResult, PartResult
from grader.spec import Step, seeds

if TYPE_CHECKING:
    from grader.pipeline.libraries import Libraries


@dataclass(frozen=True)
class GradedStep:
    """What came of a step: its cases, its part of the points, and what the virtual GPU saw of it."""

    cases: list[CaseResult]
    part: PartResult
    reports: list[Report]
    printed: str


def grade_step(
    step: Step,
    built: Libraries,
    seed: str,
    device: str,
    *,
    quick: bool,
    tell: Tell,
    budget: TimeBudget,
    hear: Hear = nobody,
) -> GradedStep:
    """Run a step's cases and look at how they are done."""

    def tell_step(text: str) -> None:
        tell(f"{step.name}, {text}")

    secret = seeds.derive(seed, "step", step.name)
    # Where it will be timed, it must be right as well.
    timed_too = dataclasses.replace(step, cases=(*step.cases, *step.bench)) if device == "gpu" else step
    runs, printed = run_on(
        *(device, timed_too, built, secret),
        quick=quick,
        tell=tell_step,
        budget=budget,
        hear=hear,
        step=step.name,
    )
    if runs and runs[0].result.reason == "entry":
        runs = [_missing(step, runs[0])]
    looked_at, reports = runs, [run.report for run in runs]
    if device == "gpu" and _all_right(runs):
        looked_at = check_on_virtual(step, built, secret, tell_step)
        reports = [run.report for run in looked_at]
        runs += [run for run in looked_at if run.result.reason in SEEN_ON_VIRTUAL]
    seen: list[MechanismResult] = []
    if step.mechanisms and _all_right(runs):
        seen, _ = look_at(step, step.mechanisms, step.cases[0], built, secret, looked_at)
    if step.blocks_share and _all_right(runs):
        tell_step("looking at what blocks leave each other")
        reports.append(check_between_blocks(step, step.case(step.blocks_share), built, secret))
    part = _part(step, runs, len(checks.merge(reports)), seen)
    cases = [dataclasses.replace(run.result, step=step.name) for run in runs]
    hear(TaskDone(step.name, cases))
    return GradedStep(cases, part, reports, printed)


def _all_right(runs: list[CaseRun]) -> bool:
    return bool(runs) and all(run.result.passed for run in runs)


def _missing(step: Step, run: CaseRun) -> CaseRun:
    message = f"this step has no entry `{step.entry}` in your file yet"
    result = CaseResult(run.result.name, True, run.result.sizes, False, MISSING, message)
    return CaseRun(result, Report(), counts=True)


def _part(step: Step, runs: list[CaseRun], findings: int, seen: list[MechanismResult]) -> PartResult:
    """All of the step's points or none: the steps themselves are what an exercise's points are split into."""
    failed = [run.result for run in runs if not run.result.passed]
    lacking = [result.message for result in seen if not result.passed]
    if failed and failed[0].reason == MISSING:
        return PartResult(step.name, 0.0, step.points, failed[0].message)
    if failed or not runs:
        passed = f"{len(runs) - len(failed)} of {len(runs)} cases passed"
        first = f"; first failure, {failed[0].name}: {failed[0].message}" if failed else ""
        return PartResult(step.name, 0.0, step.points, passed + first)
    if findings:
        told = f"right, but with {findings} finding{'' if findings == 1 else 's'}"
        return PartResult(step.name, 0.0, step.points, told)
    if lacking:
        return PartResult(step.name, 0.0, step.points, f"right, but not as asked: {lacking[0]}")
    return PartResult(step.name, step.points, step.points, f"all {len(runs)} cases passed, no findings")
