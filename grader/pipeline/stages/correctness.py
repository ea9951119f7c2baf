"""The exercise's own cases, public and hidden, on fresh inputs."""

from __future__ import annotations

from dataclasses import dataclass

from grader.pipeline.context import Context
from grader.pipeline.events import TaskDone
from grader.pipeline.judging.cases import FATAL, CaseRun
from grader.pipeline.judging.task import all_right, run_task
from grader.pipeline.results import Result, Results
from grader.pipeline.stages.build import Built
from grader.pipeline.submission import Submission


@dataclass(frozen=True, kw_only=True)
class Correctness(Result):
    runs: tuple[CaseRun, ...]

    @property
    def fatal(self) -> bool:
        """Whether further calls would fail in the same way."""
        return any(run.result.reason in FATAL for run in self.runs)


def run(submission: Submission, context: Context, earlier: Results) -> Correctness | None:
    if context.step is not None:
        return None
    program = earlier.of(Built).program
    runs, output = run_task(submission.exercise, program, context, context.seed)
    cases = [run.result for run in runs]
    context.on_event(TaskDone("", cases))
    return Correctness(cases=cases, output=output, correct=all_right(runs), runs=tuple(runs))
