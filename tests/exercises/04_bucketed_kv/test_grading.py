"""Exercise 04 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import dataclasses
import sys

from grader.spec import registry
from tests.exercises.grading import at_one_shape, graded, points

EXERCISE = registry.find("04")
SHAPES = sys.modules["exercise_04_bucketed_kv.shapes"]
STEPS = {step.name: step.points for step in EXERCISE.steps}
WHOLE = dataclasses.asdict(EXERCISE.points)


def test_the_baseline_is_correct_and_not_fast() -> None:
    record = graded(at_one_shape(EXERCISE, SHAPES.decode(1, 4, 1024, 25)), EXERCISE.baseline)
    earned = points(record)
    assert (earned["correct"], earned["clean"], earned["speed"]) == (WHOLE["correct"], WHOLE["clean"], 0)
    assert all(earned[step] == 0 for step in STEPS)
    assert all("no entry" in part.message for part in record.parts[: len(STEPS)])
