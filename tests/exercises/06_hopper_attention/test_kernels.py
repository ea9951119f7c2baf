"""Exercise 06 on the virtual GPU: what the baseline earns, and what is said of wrong kernels."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

import pytest

from grader.pipeline.grading import grade
from grader.spec import registry
from tests.exercises.grading import SEED, graded, points
from tests.exercises.wrong_kernel import Wrong, edited

EXERCISE = registry.find("06")
# The folder's name is no word of Python, so its table is asked for by name.
TABLE = importlib.import_module("tests.exercises.06_hopper_attention.wrong_kernels")
STEPS = [step.name for step in EXERCISE.steps]
WHOLE = dataclasses.asdict(EXERCISE.points)


@pytest.fixture(scope="module")
def solution() -> str:
    return edited(EXERCISE.solution.read_text(), [TABLE.WITHOUT_WHOLE])


def test_the_baseline_is_correct_and_has_none_of_hoppers_mechanisms() -> None:
    record = graded(EXERCISE, EXERCISE.baseline, ("checks", "mechanism"))
    earned = points(record)
    assert (earned["correct"], earned["clean"]) == (WHOLE["correct"], WHOLE["clean"])
    assert all(earned[step] == 0 for step in STEPS)
    lacking = {mechanism.name for mechanism in record.mechanisms if not mechanism.passed}
    assert {"the copy engine brings the tiles", "both products by wgmma"} <= lacking
    assert record.points < 70


@pytest.mark.parametrize("name", TABLE.WRONG)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(
    name: str, solution: str, tmp_path: Path
) -> None:
    wrong: Wrong = TABLE.WRONG[name]
    source = tmp_path / "kernel.cu"
    source.write_text(wrong.source(solution))
    record = grade(
        EXERCISE,
        source,
        submission="wrong",
        device="virtual",
        seed=SEED,
        stages=("checks", "mechanism"),
        quick=True,
        step=STEPS.index(wrong.part) + 1,
    )
    assert record.points == 0
    failed = next((case for case in record.cases if not case.passed), None)
    assert (failed.reason if failed else "") == wrong.reason
    said = " ".join([failed.message if failed else "", *(one["message"] for one in record.findings)])
    assert wrong.words in said
    if wrong.line:
        places = [(one["kind"], one["line"]) for one in record.findings]
        assert (wrong.kind, wrong.line_number(solution)) in places


def test_products_in_order_have_no_weights_under_them(solution: str, tmp_path: Path) -> None:
    """Right, with two consumers, and faster than the baseline: what is missing is what step 4 is about."""
    source = tmp_path / "kernel.cu"
    source.write_text(edited(solution, [("wait_for_products<1>();", "wait_for_products<0>();")]))
    record = graded(EXERCISE, source, ("checks", "mechanism"))
    assert not record.findings
    earned = points(record)
    assert {step: earned[step] == EXERCISE.steps[number].points for number, step in enumerate(STEPS)} == {
        step: step != "weights under products" for step in STEPS
    }
    [part] = [part for part in record.parts if part.name == "weights under products"]
    assert "0 waits of warps left a product in flight" in part.message


def test_three_consumers_are_right_too(tmp_path: Path) -> None:
    """The solution has them over many keys alone, at sizes that a virtual GPU takes too long for."""
    source = tmp_path / "kernel.cu"
    source.write_text(edited(EXERCISE.solution.read_text(), [TABLE.THREE_CONSUMERS]))
    record = graded(EXERCISE, source, ("checks",))
    earned = points(record)
    assert (earned["correct"], earned["clean"]) == (WHOLE["correct"], WHOLE["clean"])


def test_hints_stand_in_the_readme() -> None:
    readme = (EXERCISE.folder / "README.md").read_text()
    assert readme.count("<details>") == len(EXERCISE.hints)
