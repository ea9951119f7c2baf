"""The virtual GPU's findings: from the cases just run there, or from the public ones run again.

Only the virtual GPU shows, too, that kernels on the given stream made the answers."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from common.core.background import begin
from common.virtual_gpu.report import Finding
from grader.building.libraries import Libraries
from grader.pipeline.context import Context
from grader.pipeline.judging import findings
from grader.pipeline.judging.cases import SEEN_ON_VIRTUAL, CaseRun
from grader.pipeline.judging.large_sizes import Looked, look_at_large_sizes
from grader.pipeline.judging.task import check_between_blocks, check_on_virtual
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.stages.correctness import Correctness
from grader.pipeline.stages.steps import Steps
from grader.pipeline.submission import Submission


@dataclass(frozen=True, kw_only=True)
class Checks(Result):
    """`runs` are those on the virtual GPU. The record holds findings of steps, too, but these cost only the
    steps' points: `own` counts the exercise's. `begun` are the looks at large sizes, where they begin
    here."""

    runs: tuple[CaseRun, ...] = ()
    own: tuple[Finding, ...] = ()
    begun: Future[list[Looked]] | None = None


def run(submission: Submission, context: Context, earlier: Results) -> Checks | None:
    program, steps = earlier.of(Built).program, earlier.find(Steps)
    if not isinstance(program, Libraries) or steps is None:
        return None
    correctness = earlier.find(Correctness)
    if correctness is None:
        return Checks(findings=findings.plain(findings.merge(steps.reports)))
    exercise, device = submission.exercise, context.device
    # Few blocks leave CPUs idle: in a quick grading the stages up to the one that waits for it run beside it.
    beside = context.quick and device.tasks_at_once > 1 and "speed" in context.wanted and earlier.correct
    looks = begin(look_at_large_sizes, exercise, program, device.virtual, context.seed) if beside else None
    runs, wrong = correctness.runs, []
    if not device.reports_findings:
        timed = exercise.timed_cases if "speed" in context.wanted else ()
        right = earlier.correct
        runs = tuple(check_on_virtual(exercise, program, context, context.seed, timed, right=right))
        wrong = [run.result for run in runs if run.result.reason in SEEN_ON_VIRTUAL]
    reports = [run.report for run in runs]
    if exercise.blocks_share and earlier.correct and not wrong:
        case = exercise.case(exercise.blocks_share)
        reports.append(check_between_blocks(exercise, case, program, context, context.seed))
    return Checks(
        cases=wrong,
        correct=not wrong,
        findings=findings.plain(findings.merge([*steps.reports, *reports])),
        runs=runs,
        own=tuple(findings.merge(reports)),
        begun=looks,
    )
