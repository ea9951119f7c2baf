"""Looks for what the exercise teaches in several calls on the virtual GPU."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from grader.building.libraries import Libraries
from grader.pipeline.context import Context
from grader.pipeline.judging.mechanisms import mechanism_cases
from grader.pipeline.judging.task import look_at
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.stages.checks import Checks
from grader.pipeline.stages.correctness import Correctness
from grader.pipeline.submission import Submission


@dataclass(frozen=True, kw_only=True)
class Mechanisms(Result):
    """The record also gets the launches of a call: a profile shows them."""


def run(submission: Submission, context: Context, earlier: Results) -> Mechanisms | None:
    program, correctness = earlier.of(Built).program, earlier.find(Correctness)
    if not isinstance(program, Libraries) or correctness is None or correctness.fatal:
        return None
    context.notify("looking at how it works")
    exercise, checks = submission.exercise, earlier.find(Checks)
    runs = checks.runs if checks is not None else correctness.runs
    found, outcome = look_at(
        exercise, exercise.mechanisms, mechanism_cases(exercise), program, context, context.seed, runs
    )
    launches = [dataclasses.asdict(launch) for launch in outcome.report.launches]
    lines = [line for launch in launches for line in launch.pop("lines")]
    return Mechanisms(mechanisms=found, launches=launches, lines=lines)
