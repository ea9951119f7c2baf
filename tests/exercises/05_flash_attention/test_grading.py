"""Exercise 05 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from grader.course import starters
from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import Exercise, Speedup, registry

EXERCISE = registry.find("05")
SHAPES = sys.modules["exercise_05_flash_attention.shapes"]
SEED = "the seed of the tests"
STEPS = {step.name: step.points for step in EXERCISE.steps}
WHOLE = dataclasses.asdict(EXERCISE.points)


def graded(source: Path, exercise: Exercise = EXERCISE, *, quick: bool = False) -> Record:
    return grade(exercise, source, submission=source.stem, device="virtual", seed=SEED, quick=quick)


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


def at_a_small_shape() -> Exercise:
    """Its target at a shape that slow kernels are through with in a second."""
    small = SHAPES.bench(2, 8, 128)
    (target,) = EXERCISE.targets
    assert isinstance(target, Speedup)
    target = dataclasses.replace(target, cases=(small.name,))
    return dataclasses.replace(EXERCISE, bench=(small,), targets=(target,))


def test_a_hundred_points_are_given_away() -> None:
    assert sum(STEPS.values()) + sum(WHOLE.values()) == EXERCISE.max_points == 100


def test_the_solution_gets_full_marks() -> None:
    record = graded(EXERCISE.solution)
    assert points(record) == {**STEPS, **WHOLE}
    assert record.flags == []
    assert record.diagnostics == []
    assert not record.findings


def test_the_baseline_is_correct_and_not_fast_and_keeps_scores_in_shared_memory() -> None:
    record = graded(EXERCISE.baseline, at_a_small_shape())
    earned = points(record)
    assert (earned["correct"], earned["clean"], earned["speed"]) == (WHOLE["correct"], WHOLE["clean"], 0)
    assert all(earned[step] == 0 for step in STEPS)
    assert all("no entry" in part.message for part in record.parts[: len(STEPS)])
    lacking = {mechanism.name for mechanism in record.mechanisms if not mechanism.passed}
    assert {"no scores in shared memory", "cp.async brings the tiles"} <= lacking
    assert "both products on the tensor cores" not in lacking


def test_the_starter_compiles_without_a_warning_and_earns_nothing() -> None:
    record = graded(EXERCISE.starter, quick=True)
    assert record.diagnostics == []
    assert record.points == 0
    assert record.verdict == "wrong answer"


def test_the_starter_is_what_the_solution_makes() -> None:
    assert starters.difference(EXERCISE.solution, EXERCISE.starter) == ""


def test_hints_grow_and_stand_in_the_readme() -> None:
    readme = (EXERCISE.folder / "README.md").read_text()
    assert 4 <= len(EXERCISE.hints) <= 6
    assert readme.count("<details>") == len(EXERCISE.hints)
