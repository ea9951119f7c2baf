"""Findings at timed sizes that the virtual GPU cannot run whole: it runs a few blocks of each launch."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from common.virtual_gpu.report import Finding
from grader.building.libraries import Libraries
from grader.pipeline.context import Context
from grader.pipeline.judging import findings
from grader.pipeline.judging.large_sizes import launched_there_alone, look_at_large_sizes, shapes
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.stages.checks import Checks
from grader.pipeline.stages.correctness import Correctness
from grader.pipeline.stages.speed import Speeds
from grader.pipeline.submission import Submission


@dataclass(frozen=True, kw_only=True)
class LargeSizes(Result):
    """`own` are findings of mistakes that no other call has shown."""

    own: tuple[Finding, ...] = ()


def run(submission: Submission, context: Context, earlier: Results) -> LargeSizes | None:
    program, checks, correctness = (
        earlier.of(Built).program,
        earlier.find(Checks),
        earlier.find(Correctness),
    )
    timed = "speed" in context.wanted
    begun = checks.begun if checks is not None else None
    if begun is not None:
        begun.result()  # of a kernel that was wrong while it was timed, too: nothing may run on afterwards
    if not timed or checks is None or correctness is None or not earlier.correct:
        return None
    if not isinstance(program, Libraries):
        return None
    looked = (
        begun.result()
        if begun is not None
        else look_at_large_sizes(submission.exercise, program, context.device.virtual, context.seed)
    )
    if not looked:
        return None
    speeds = earlier.find(Speeds)
    known = [*checks.own, *(speeds.own if speeds is not None else ())]
    found = findings.besides(
        findings.merge(dataclasses.replace(one.report, findings=one.findings) for one in looked), known
    )
    whole = [
        (each.result.name, outcome.report)
        for each in (*correctness.runs, *checks.runs)
        for outcome in each.outcomes[:1]
    ]
    whole += [("timed", report) for report in speeds.reports] if speeds is not None else []
    return LargeSizes(
        findings=findings.plain(found),
        large_sizes=[one.plain() for one in looked],
        flags=[one.unseen for one in looked if one.unseen and not one.findings],
        launch_shapes=shapes(looked, whole),
        sampled_only=launched_there_alone(looked, (report for _, report in whole)),
        own=tuple(found),
    )
