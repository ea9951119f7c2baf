"""Submissions in Python on hardware: real Triton behind the walls, the harness's clock and comparison."""

from __future__ import annotations

import dataclasses
import importlib.util

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from tests.grader.stepped_exercise import EXERCISE, FOLDER

FILES = FOLDER / "python"
WHOLE = dataclasses.replace(EXERCISE, steps=())


def graded(name: str) -> Record:
    return grade(WHOLE, FILES / f"{name}.py", submission=name, device="gpu")


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")
def test_triton_kernels_are_compiled_captured_and_timed():
    record = graded("triton_rows")
    assert points(record)["correct"] == 60, record.cases
    assert record.speed is not None
    assert record.speed.targets, record.speed.notes


def test_torchs_copies_are_right_and_earn_points_for_that_alone():
    record = graded("torch_copies")
    assert points(record) == {"correct": 40, "mechanism": 0, "speed": 0}, record.cases
    assert "no Triton kernel is launched here" in record.parts[-1].message


def test_patched_timers_earn_nothing():
    assert points(graded("t4_patched_timers")) == points(graded("torch_copies"))


@pytest.mark.parametrize("cheat", ["t3_lazy_objects", "h4_patched_comparison"])
def test_what_python_makes_of_tensors_and_comparisons_stays_in_the_worker(cheat: str):
    record = graded(cheat)
    assert (record.points, record.verdict) == (0, "wrong answer")
