"""Exercise 02 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import functools
import importlib
import re
from pathlib import Path

import pytest

from grader.records.record import Record
from grader.spec import registry
from tests.exercises.grading import UNTIMED, check_failure, graded, points, wrong_sections
from tests.exercises.sections import Section

EXERCISE = registry.find("02")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is no word of Python, so its table is asked for by name.
WRONG = importlib.import_module("tests.exercises.02_fused_copy.wrong_kernels").WRONG
STEPS = {step.name: step.points for step in EXERCISE.steps}


@functools.cache  # a file, once for all that is said of it
def graded_once(source: Path, stages: tuple[str, ...] | None = None) -> Record:
    return graded(EXERCISE, source, stages)


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    return wrong_sections(WRONG, SOLUTION, tmp_path_factory.mktemp("wrong"))


def test_the_baseline_is_correct_and_not_fast() -> None:
    record = graded_once(EXERCISE.baseline)
    earned = points(record)
    assert (earned["correct"], earned["clean"], earned["speed"]) == (35, 10, 0)
    assert earned["mechanism"] < 10


@pytest.mark.parametrize("variant", [*EXERCISE.variants()], ids=lambda path: path.stem)
def test_every_variant_is_correct_clean_and_one_launch(variant: Path) -> None:
    earned = points(graded_once(variant, UNTIMED))
    assert (earned["correct"], earned["clean"], earned["mechanism"]) == (35, 10, 10)


def test_a_file_without_the_steps_learns_so_and_keeps_the_rest() -> None:
    record = graded_once(EXERCISE.solution.with_name("thread_per_element.cu"), UNTIMED)
    for part in record.parts[: len(STEPS)]:
        assert part.points == 0
        assert "no entry" in part.message


def test_the_flattened_variant_is_wrong_and_says_why() -> None:
    source = EXERCISE.solution.parent / "wrong" / "flattened.cu"
    said = re.match(r"// expect: correct mismatch: (.+)", source.read_text())
    assert said is not None
    record = graded_once(source, UNTIMED)
    failed = next(case for case in record.cases if not case.passed and case.reason == "mismatch")
    assert said[1] in failed.message
    passed = {case.name for case in record.cases if case.passed}
    assert "no gaps between rows" in passed  # where there is nothing to get wrong


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(
    name: str, sections: dict[str, Section]
) -> None:
    wanted, section = WRONG[name], sections[name]
    record = graded(section.of(EXERCISE, wanted.part), section.file, UNTIMED, quick=True)
    check_failure(wanted, SOLUTION, section, record)


def test_a_mistake_in_a_step_costs_that_step_alone(sections: dict[str, Section]) -> None:
    section = sections["a step's own mistake"]
    earned = points(graded(section.of(EXERCISE), section.file, UNTIMED))
    assert earned == {
        **STEPS,
        "two vectors": 0,
        "correct": 35,
        "clean": 10,
        "mechanism": 10,
    }


def test_the_steps_share_twenty_points() -> None:
    assert sum(STEPS.values()) == 20


def test_there_are_wrong_kernels_enough() -> None:
    assert len(WRONG) >= 12
