"""The shapes of an exercise, and the description of one in a benchmark file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.spec import Case, Exercise, Step, seeds


@dataclass(frozen=True)
class Shape:
    """A bench case of the exercise or of one of its steps; `number` counts those of its task from 0."""

    task: Exercise | Step
    case: Case
    number: int

    @property
    def name(self) -> str:
        return self.case.name if isinstance(self.task, Exercise) else f"{self.task.name}: {self.case.name}"

    @property
    def seed(self) -> str:
        of = () if isinstance(self.task, Exercise) else (self.task.entry,)
        return seeds.derive("bench", *of, self.number)


def all_shapes(exercise: Exercise) -> list[Shape]:
    """The exercise's own, then those of its steps."""
    tasks: tuple[Exercise | Step, ...] = (exercise, *exercise.steps)
    return [Shape(task, case, number) for task in tasks for number, case in enumerate(task.bench)]


def shapes_for(exercise: Exercise, *, modelled: bool, large: bool) -> tuple[list[Shape], list[str]]:
    """The shapes to measure or model, and the names of those that only a GPU measures."""
    every = all_shapes(exercise)
    chosen = [shape for shape in every if large or not (modelled and shape.case.gpu_only)]
    return chosen, [shape.name for shape in every if shape not in chosen]


def shape_of(exercise: Exercise, case: Case) -> dict[str, Any]:
    """With the baseline's bytes if it uses another case."""
    shape = {"case": case.name, "sizes": dict(case.sizes), "bytes": exercise.moved(case)}
    of_baseline = exercise.moved(exercise.case_of_baseline(case))
    return shape if of_baseline == shape["bytes"] else {**shape, "baseline_bytes": of_baseline}


def step_shape_of(step: Step, case: Case) -> dict[str, Any]:
    about = {"step": step.name, "entry": step.entry}
    return {**about, "case": case.name, "sizes": dict(case.sizes), "bytes": step.moved(case)}
