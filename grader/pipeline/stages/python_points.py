"""Points of a submission in Python. Right answers of a Triton kernel also earn the points for checks and
mechanisms; speed is measured on a GPU only."""

from __future__ import annotations

from collections.abc import Sequence

from grader.pipeline.context import Context
from grader.pipeline.judging import rubric
from grader.pipeline.judging.cases import CaseRun
from grader.pipeline.results import Results
from grader.pipeline.stages.build import Built
from grader.pipeline.submission import Submission
from grader.python_track.program import PythonProgram
from grader.python_track.triton_source import NO_KERNEL
from grader.records.record import PartResult

INTERPRETED = "run by Triton's interpreter on the CPU: correctness only, speed is not measured"
_ONLY_IN_CUDA = "only in a kernel.cu"


def python_parts(
    submission: Submission, context: Context, earlier: Results, runs: Sequence[CaseRun]
) -> list[PartResult]:
    exercise, built, correct = submission.exercise, earlier.of(Built), earlier.correct
    parts = [PartResult(step.name, 0.0, step.points, _ONLY_IN_CUDA) for step in exercise.steps]
    if built.failure:
        return [*parts, PartResult("correct", 0.0, exercise.points.total, built.failure)]
    assert isinstance(built.program, PythonProgram)
    beside = exercise.points.clean + exercise.points.mechanism
    in_triton, timed = built.program.in_triton, context.device.timed
    worth = exercise.points.correct + (beside if in_triton else 0.0)
    parts.append(rubric.correct_part(exercise, runs, worth))
    if not in_triton:
        parts.append(PartResult("mechanism", 0.0, beside, NO_KERNEL))
    elif not timed:
        parts[-1].message += f" ({INTERPRETED})"
    if "speed" in context.wanted:
        parts.append(rubric.speed_part(exercise, correct, earlier.speed))
        if correct and not (in_triton and timed):
            parts[-1].message = INTERPRETED if in_triton else NO_KERNEL
    return parts
