"""The smaller entry points that lead to the whole exercise: each earns or loses its own points."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from common.virtual_gpu.report import Finding, Report
from grader.building.libraries import Libraries
from grader.pipeline.context import Context
from grader.pipeline.events import InOrder, TaskDone
from grader.pipeline.judging import findings
from grader.pipeline.judging.cases import SEEN_ON_VIRTUAL, CaseRun
from grader.pipeline.judging.rubric import MISSING
from grader.pipeline.judging.task import all_right, check_between_blocks, check_on_virtual, look_at, run_task
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.submission import Submission
from grader.records.record import CaseResult, MechanismResult
from grader.spec import Step, seeds


@dataclass(frozen=True)
class GradedStep:
    """A step's results, and the virtual GPU's reports on it."""

    step: Step
    cases: tuple[CaseResult, ...]
    reports: tuple[Report, ...]
    mechanisms: tuple[MechanismResult, ...]
    output: str

    @property
    def findings(self) -> list[Finding]:
        return findings.merge(self.reports)


@dataclass(frozen=True, kw_only=True)
class Steps(Result):
    graded: tuple[GradedStep, ...]

    @property
    def reports(self) -> list[Report]:
        return [report for one in self.graded for report in one.reports]


def run(submission: Submission, context: Context, earlier: Results) -> Steps | None:
    program, steps = earlier.of(Built).program, context.steps(submission.exercise)
    if not isinstance(program, Libraries):  # a Python file has only the exercise's own entry
        return None
    in_order = InOrder(context.on_event, len(steps))

    def grade(number: int) -> GradedStep:
        with in_order.part(number) as on_event:
            return grade_step(steps[number], program, dataclasses.replace(context, on_event=on_event))

    # One worker is left for the exercise's own entry, which takes longest and runs beside the steps.
    places = max(1, context.device.tasks_at_once - 1) if context.quick else 1
    with ThreadPoolExecutor(places) as pool:
        graded = tuple(pool.map(grade, range(len(steps))))
    return Steps(
        cases=[case for one in graded for case in one.cases],
        output="".join(one.output for one in graded),
        graded=graded,
    )


def grade_step(step: Step, program: Libraries, context: Context) -> GradedStep:
    """Run a step's cases and look for its mechanisms."""

    def notify(text: str) -> None:
        context.notify(f"{step.name}, {text}")

    device, own = context.device, dataclasses.replace(context, notify=notify)
    secret = seeds.derive(context.seed, "step", step.seed_name)
    # Its answers must be right at the timed cases, too.
    cases = step.cases if device.modelled else (*step.cases, *step.bench)
    runs, output = run_task(dataclasses.replace(step, cases=cases), program, own, secret, step.name)
    if runs and runs[0].result.reason == "entry":
        runs = [_missing(step, runs[0])]
    looked_at, reports = runs, [run.report for run in runs]
    if not device.reports_findings and all_right(runs):
        looked_at = check_on_virtual(step, program, own, secret, step.bench)
        reports = [run.report for run in looked_at]
        runs += [run for run in looked_at if run.result.reason in SEEN_ON_VIRTUAL]
    seen: list[MechanismResult] = []
    if step.mechanisms and all_right(runs):
        seen, _ = look_at(step, step.mechanisms, step.cases[:1], program, own, secret, looked_at)
    if step.blocks_share and all_right(runs):
        reports.append(check_between_blocks(step, step.case(step.blocks_share), program, own, secret))
    results = tuple(dataclasses.replace(run.result, step=step.name) for run in runs)
    context.on_event(TaskDone(step.name, results))
    return GradedStep(step, results, tuple(reports), tuple(seen), output)


def _missing(step: Step, run: CaseRun) -> CaseRun:
    message = f"this step has no entry `{step.entry}` in your file yet"
    shape = run.result.shape
    result = CaseResult(run.result.name, True, run.result.sizes, False, MISSING, message, shape=shape)
    return CaseRun(result, Report(), counts=True)
