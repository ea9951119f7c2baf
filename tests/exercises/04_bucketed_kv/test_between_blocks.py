"""Parts that one block leaves for another in exercise 04 want a fence before the counter."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from grader.devices.device import VirtualDevice
from grader.pipeline.context import Context
from grader.pipeline.grading import grade
from grader.pipeline.judging.task import check_between_blocks
from grader.spec import registry

EXERCISE = registry.find("04")
CASE = EXERCISE.case(EXERCISE.blocks_share)
FENCED = "    __threadfence();\n    auto* counters"
WAITED_FOR = "  __syncthreads();\n  if (threadIdx.x == 0) {\n    __threadfence();"
READ = "return {__ldcg(numbers), __ldcg(numbers + 1), __ldcg(numbers + 2)};"


def without(line: str, folder: Path) -> Path:
    """The solution but for a line, which stands before one that stays."""
    text = EXERCISE.solution.read_text()
    assert text.count(line) == 1
    source = folder / "kernel.cu"
    source.write_text(text.replace(line, line.partition("\n")[2]))
    return source


def test_the_solution_publishes_what_it_leaves(tmp_path: Path) -> None:
    device = VirtualDevice()
    context = Context(device, "a seed", device.time_budget(), tmp_path, frozenset())
    built = device.compile(EXERCISE.solution, tmp_path)
    assert list(check_between_blocks(EXERCISE, CASE, built, context, "a seed").findings) == []


def test_a_forgotten_fence_costs_the_points_for_clean_kernels(tmp_path: Path) -> None:
    source = without(FENCED, tmp_path)
    # Steps have their entry points for themselves, and a few cases show that its answers are right.
    whole = dataclasses.replace(EXERCISE, steps=(), cases=(*EXERCISE.cases[:2], CASE), hidden=lambda _: ())
    stages = ("build", "correctness", "checks")
    record = grade(whole, source, submission="hasty", device="virtual", stages=stages)
    parts = {part.name: part for part in record.parts}
    assert parts["correct"].points == EXERCISE.points.correct
    assert parts["clean"].points == 0
    line = source.read_text().splitlines().index(f"  {READ}") + 1
    assert {finding["kind"] for finding in record.findings} == {"race"}
    assert any(place["line"] == line for finding in record.findings for place in finding["place"])


def test_a_step_loses_its_points_where_not_all_of_a_block_is_waited_for(tmp_path: Path) -> None:
    source = without(WAITED_FOR, tmp_path)
    number = [step.name for step in EXERCISE.steps].index("attend") + 1
    record = grade(EXERCISE, source, submission="hasty", device="virtual", step=number)
    (part,) = record.parts
    assert part.points == 0
    assert "right, but with" in part.message
    assert {finding["kind"] for finding in record.findings} == {"race"}
