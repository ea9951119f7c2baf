"""Exercise 05 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import dataclasses
import sys

from grader.spec import registry
from tests.exercises.grading import at_one_shape, graded, points

EXERCISE = registry.find("05")
SHAPES = sys.modules["exercise_05_flash_attention.shapes"]
STEPS = {step.name: step.points for step in EXERCISE.steps}
WHOLE = dataclasses.asdict(EXERCISE.points)


def test_the_baseline_is_correct_and_not_fast_and_keeps_scores_in_shared_memory() -> None:
    record = graded(at_one_shape(EXERCISE, SHAPES.bench(2, 8, 128)), EXERCISE.baseline)
    earned = points(record)
    assert (earned["correct"], earned["clean"], earned["speed"]) == (WHOLE["correct"], WHOLE["clean"], 0)
    assert all(earned[step] == 0 for step in STEPS)
    assert all("no entry" in part.message for part in record.parts[: len(STEPS)])
    lacking = {mechanism.name for mechanism in record.mechanisms if not mechanism.passed}
    assert {"no scores in shared memory", "cp.async brings the tiles"} <= lacking
    assert "both products on the tensor cores" not in lacking


def test_hints_grow_and_stand_in_the_readme() -> None:
    readme = (EXERCISE.folder / "README.md").read_text()
    assert 4 <= len(EXERCISE.hints) <= 6
    assert readme.count("<details>") == len(EXERCISE.hints)
