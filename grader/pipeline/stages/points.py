"""Points by the exercise's rubric, from the results of all other stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from common.virtual_gpu.report import Report
from grader.pipeline.context import Context
from grader.pipeline.judging import rubric
from grader.pipeline.judging.cases import CaseRun
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.stages.checks import Checks
from grader.pipeline.stages.correctness import Correctness
from grader.pipeline.stages.large_sizes import LargeSizes
from grader.pipeline.stages.machine_code import MachineCode
from grader.pipeline.stages.python_points import python_parts
from grader.pipeline.stages.speed import Speeds
from grader.pipeline.stages.steps import Steps
from grader.pipeline.submission import Submission
from grader.records.record import PartResult
from grader.spec import Exercise


@dataclass(frozen=True, kw_only=True)
class Points(Result):
    """`verdict` is empty where it follows from cases and points."""

    verdict: str = ""


def run(submission: Submission, context: Context, earlier: Results) -> Points:
    if submission.in_python:
        verdict = "takes no Python" if submission.exercise.python is None else ""
        return Points(parts=python_parts(submission, context, earlier, _counted(earlier)), verdict=verdict)
    unfit = earlier.find(MachineCode)
    if failure := unfit.failure if unfit is not None else earlier.of(Built).failure:
        return Points(parts=_not_built(submission.exercise, failure, context), verdict="does not compile")
    steps = [
        rubric.step_part(one.step, one.cases, one.findings, one.mechanisms)
        for one in earlier.of(Steps).graded
    ]
    return Points(parts=[*steps, *(_own_parts(submission, context, earlier) if context.step is None else ())])


def _not_built(exercise: Exercise, failure: str, context: Context) -> list[PartResult]:
    lost = exercise.rubric if context.step is None else {context.step.name: context.step.points}
    names = {"correct" if context.step is None else context.step.name: failure}
    return [
        PartResult(name, 0.0, most, names.get(name, "needs a kernel that compiles"))
        for name, most in lost.items()
    ]


def _counted(earlier: Results) -> Sequence[CaseRun]:
    """The runs that points for right answers are counted from: those on a GPU, unless the virtual GPU showed
    what a GPU cannot detect; and a case that was wrong while it was timed."""
    correctness, checks, speeds = earlier.find(Correctness), earlier.find(Checks), earlier.find(Speeds)
    runs = correctness.runs if correctness is not None else ()
    if checks is not None and not checks.correct:
        seen = [run for run in checks.runs if run.counts]
        return [*seen, *(_unseen(run) for run in runs if not run.result.public)]
    timed = [CaseRun(case, Report(), counts=True) for case in speeds.cases] if speeds is not None else []
    return [*runs, *timed]


def _unseen(run: CaseRun) -> CaseRun:
    """A hidden case, which only the GPU ran, of a submission whose answers cannot be trusted there."""
    message = "who made this answer is not known, and in other cases it was not a kernel on the given stream"
    return CaseRun(dataclasses.replace(run.result, passed=False, message=message), Report(), counts=True)


def _own_parts(submission: Submission, context: Context, earlier: Results) -> list[PartResult]:
    """The exercise's own parts: right answers, and the parts of the optional stages that were wanted."""
    exercise, correct = submission.exercise, earlier.correct
    parts = [rubric.correct_part(exercise, _counted(earlier))]
    if (checks := earlier.find(Checks)) is not None:
        speeds = earlier.find(Speeds)
        large = earlier.find(LargeSizes)
        own = [
            *checks.own,
            *(speeds.own if speeds is not None else ()),
            *(large.own if large is not None else ()),
        ]
        unsupported = next((one for one in own if one.kind == "unsupported"), None)
        why = f"the virtual GPU cannot check this kernel: {unsupported.message}" if unsupported else ""
        parts.append(rubric.clean_part(exercise, correct, own, why))
    if "mechanism" in context.wanted:
        found = [one for result in earlier for one in result.mechanisms]
        parts.append(rubric.mechanism_part(exercise, correct, found))
    if "speed" in context.wanted:
        parts.append(rubric.speed_part(exercise, correct, earlier.speed))
    return parts
