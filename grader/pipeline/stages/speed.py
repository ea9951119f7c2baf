"""Speed over the baseline: measured where there is a GPU, modelled where there is none."""

from __future__ import annotations

from dataclasses import dataclass

from common.virtual_gpu.report import Finding, Report
from grader.pipeline.context import Context
from grader.pipeline.judging import findings
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.stages.checks import Checks
from grader.pipeline.submission import Submission
from grader.records.record import CaseResult
from grader.timing.speed import speed_over_baseline


@dataclass(frozen=True, kw_only=True)
class Speeds(Result):
    """A case that is wrong only while it is timed counts as wrong. `own` are findings in timed calls, and
    `reports` the virtual GPU's on them."""

    own: tuple[Finding, ...] = ()
    reports: tuple[Report, ...] = ()


def run(submission: Submission, context: Context, earlier: Results) -> Speeds | None:
    built = earlier.of(Built)
    if built.baseline is None or built.program is None or not earlier.correct:
        return None
    timed = speed_over_baseline(
        submission.exercise,
        context.device,
        built.baseline.result(),
        built.program,
        context.seed,
        context.notify,
        quick=context.quick,
    )
    wrong = [
        CaseResult(
            name,
            True,
            dict(submission.exercise.bench_case(name).sizes),
            False,
            timed.reasons.get(name, "mismatch"),
            message,
        )
        for name, message in timed.speed.wrong.items()
    ]
    checks = earlier.find(Checks)
    found = findings.besides(findings.merge(timed.reports), checks.own if checks is not None else ())
    return Speeds(
        speed=timed.speed,
        cases=wrong,
        correct=not wrong,
        findings=findings.plain(found),
        own=tuple(found),
        reports=tuple(timed.reports),
    )
