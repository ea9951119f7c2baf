"""The interface of a stage, and the two ways to run several: one after the other, or in parallel."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from grader.pipeline.context import Context
from grader.pipeline.events import InOrder
from grader.pipeline.results import Result, Results
from grader.pipeline.submission import Submission

Run = Callable[[Submission, Context, Results], Result | None]


@dataclass(frozen=True)
class Stage:
    """`run` takes the results of earlier stages and returns its own, or None where it has nothing to do.
    `adds` says in a few words what they are. An `optional` stage runs if the context wants it; one that runs
    `always` does so even for a submission that could not be built."""

    name: str
    run: Run
    adds: str = ""
    optional: bool = False
    always: bool = False

    def __call__(self, submission: Submission, context: Context, earlier: Results) -> Results:
        if (self.optional and self.name not in context.wanted) or (earlier.ended and not self.always):
            return earlier
        return earlier.with_(self.run(submission, context, earlier))


@dataclass(frozen=True)
class Parallel:
    """Stages that do not need each other's results: a quick grading runs them at the same time. Their events
    and results still come in order."""

    stages: Sequence[Stage]

    def __call__(self, submission: Submission, context: Context, earlier: Results) -> Results:
        if not context.quick or context.device.tasks_at_once == 1:
            return in_sequence(self.stages, submission, context, earlier)
        in_order = InOrder(context.on_event, len(self.stages))

        def run(number: int) -> Results:
            with in_order.part(number) as on_event:
                own = dataclasses.replace(context, on_event=on_event)
                return self.stages[number](submission, own, earlier)

        with ThreadPoolExecutor(len(self.stages)) as pool:
            results = list(pool.map(run, range(len(self.stages))))
        return Results((*earlier, *(made for each in results for made in each.made[len(earlier.made) :])))


def in_sequence(
    stages: Sequence[Stage | Parallel], submission: Submission, context: Context, earlier: Results
) -> Results:
    for stage in stages:
        earlier = stage(submission, context, earlier)
    return earlier
