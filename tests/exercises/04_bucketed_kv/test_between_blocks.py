"""Parts that one block leaves for another in exercise 04 want a fence before the counter."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from grader import registry
from grader.libraries import compile_submission
from grader.pipeline import grade
from grader.stages.task import check_between_blocks

EXERCISE = registry.find("04")
CASE = EXERCISE.case(EXERCISE.blocks_share)
FENCED = "    __threadfence();\n    auto* counters"
READ = "return {__ldcg(numbers), __ldcg(numbers + 1), __ldcg(numbers + 2)};"


def without_the_fence(folder: Path) -> Path:
    text = EXERCISE.solution.read_text()
    assert text.count(FENCED) == 1
    source = folder / "kernel.cu"
    source.write_text(text.replace(FENCED, "    auto* counters"))
    return source


def test_the_solution_publishes_what_it_leaves(tmp_path: Path) -> None:
    built = compile_submission(EXERCISE.solution, "virtual", tmp_path)
    assert list(check_between_blocks(EXERCISE, CASE, built, "a seed").findings) == []


def test_a_forgotten_fence_costs_the_points_for_clean_kernels(tmp_path: Path) -> None:
    source = without_the_fence(tmp_path)
    whole = dataclasses.replace(EXERCISE, steps=())  # which have their entry points for themselves
    stages = ("build", "correctness", "checks")
    record = grade(whole, source, submission="hasty", device="virtual", stages=stages)
    parts = {part.name: part for part in record.parts}
    assert parts["correct"].points == EXERCISE.points.correct
    assert parts["clean"].points == 0
    line = source.read_text().splitlines().index(f"  {READ}") + 1
    assert {finding["kind"] for finding in record.findings} == {"race"}
    assert any(place["line"] == line for finding in record.findings for place in finding["place"])
