"""The exercise that docs/adding-an-exercise.md adds is whole: taken off the page, it can be graded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from grader.course.starters import starter_text
from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import Exercise, registry

PAGE = REPOSITORY / "docs" / "adding-an-exercise.md"
NAME = "07_row_sums"
PLACES = (f"exercises/{NAME}/exercise.py", f"exercises/{NAME}/baseline.cu", f"solutions/{NAME}/kernel.cu")


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Exercise:
    """The page's three files in a course of their own."""
    root = tmp_path_factory.mktemp("course")
    text = PAGE.read_text()
    blocks = re.findall(r"```(?:python|cuda)\n(.*?)```", text, re.DOTALL)
    for place, block in zip(PLACES, blocks, strict=True):
        assert place in text
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(block)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "SOLUTIONS", root / "solutions")
        exercise = registry.load(root / "exercises" / NAME)
    exercise.starter.write_text(starter_text(exercise.solution.read_text()))
    return exercise


def graded(exercise: Exercise, source: Path) -> Record:
    return grade(exercise, source, submission="added", device="virtual")


def test_the_solution_earns_full_marks(added: Exercise) -> None:
    assert graded(added, added.solution).verdict == "full marks"


def test_the_baseline_is_correct_and_not_fast(added: Exercise) -> None:
    record = graded(added, added.baseline)
    earned = {part.name: part.points for part in record.parts}
    assert earned["correct"] == added.points.correct
    assert earned["speed"] == 0
    assert record.points < 70


def test_the_starter_compiles_and_does_not_pass(added: Exercise) -> None:
    record = graded(added, added.starter)
    assert record.verdict == "wrong answer"


def test_its_named_mistake_is_recognised(added: Exercise, tmp_path: Path) -> None:
    wrong = tmp_path / "kernel.cu"
    text = added.solution.read_text()
    assert text.count("column < columns; column += 32") == 1
    wrong.write_text(
        text.replace("column < columns; column += 32", "column < columns / 32 * 32; column += 32")
    )
    failed = next(case for case in graded(added, wrong).cases if not case.passed)
    assert "left out" in failed.message
