"""Exercise 02 on a GPU: what only a real clock, a real graph or much memory can show."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import registry

EXERCISE = registry.find("02")
SOLUTION = EXERCISE.solution.read_text()
CHEATS = importlib.import_module("tests.exercises.02_fused_copy.cheats").CHEATS


def graded(text: str, folder: Path, stages: tuple[str, ...]) -> Record:
    source = folder / "kernel.cu"
    source.write_text(text)
    return grade(EXERCISE, source, submission="cheat", device="gpu", stages=stages)


@pytest.mark.parametrize("name", CHEATS)
def test_a_graph_that_does_less_than_its_calls_earns_nothing_for_speed(name: str, tmp_path: Path) -> None:
    record = graded(CHEATS[name].source(SOLUTION), tmp_path, ("build", "correctness", "speed"))
    speed = next(part for part in record.parts if part.name == "speed")
    assert speed.points == 0, CHEATS[name].tries


def test_offsets_of_32_bits_are_found_out_where_there_is_memory_for_it(tmp_path: Path) -> None:
    product = "table.destination + row * table.destination_stride,"
    assert SOLUTION.count(product) == 1
    narrow = SOLUTION.replace(
        product, "table.destination + static_cast<int>(row) * static_cast<int>(table.destination_stride),"
    )
    record = graded(narrow, tmp_path, ("build", "correctness"))
    failed = [case.name for case in record.cases if not case.passed]
    assert failed
    assert failed[0] == "captured rows past 2^31 elements"
