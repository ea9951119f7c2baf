"""What every stage needs besides the submission."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common.core.progress import Notify
from grader.devices.device import Device
from grader.devices.time_budget import TimeBudget
from grader.pipeline.events import OnEvent
from grader.spec import Exercise, Step, Task


@dataclass(frozen=True)
class Context:
    """One grading. All cases and inputs follow from `seed`.

    With `quick`, the first failing case is the last, and tasks run beside each other. With `step`, that step
    alone is graded. `notify` gets sentences of progress, `on_event` results as they come.
    """

    device: Device
    seed: str
    budget: TimeBudget
    scratch: Path
    wanted: frozenset[str]  # the optional stages to run
    quick: bool = False
    step: Step | None = None
    notify: Notify = lambda text: None
    on_event: OnEvent = lambda event: None

    def steps(self, exercise: Exercise) -> tuple[Step, ...]:
        """The steps to grade."""
        return exercise.steps if self.step is None else (self.step,)

    def tasks(self, exercise: Exercise) -> tuple[Task, ...]:
        """The steps to grade, then the exercise itself, unless a step is graded alone."""
        return (*exercise.steps, exercise) if self.step is None else (self.step,)
