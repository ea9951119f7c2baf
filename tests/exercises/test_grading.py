"""Every exercise through the whole pipeline on the virtual GPU: what its solution and its starter earn.

Baselines, variants and mistakes are tested in each exercise's own folder."""

from __future__ import annotations

import pytest

from grader.spec import Exercise, registry
from tests.exercises.grading import graded, points

every_exercise = pytest.mark.parametrize(
    "exercise", registry.all_exercises(), ids=lambda exercise: exercise.id
)

# Starters whose kernels write something already, and what is said of it.
STARTERS_THAT_WRITE = {"04_bucketed_kv": "is zero", "05_flash_attention": "must be a finite number"}


@every_exercise
def test_the_solution_gets_full_marks(exercise: Exercise) -> None:
    record = graded(exercise, exercise.solution)
    assert points(record) == exercise.rubric
    assert record.flags == []
    assert record.diagnostics == []
    assert record.findings == []


@every_exercise
def test_the_starter_compiles_without_a_warning_and_earns_nothing(exercise: Exercise) -> None:
    record = graded(exercise, exercise.starter, quick=True)
    assert record.diagnostics == []
    assert record.points == 0
    assert record.verdict == "wrong answer"
    failed = next(case for case in record.deciding_cases if not case.passed)
    assert STARTERS_THAT_WRITE.get(exercise.id, "Nothing was written") in failed.message
