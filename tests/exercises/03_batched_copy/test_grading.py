"""Exercise 03 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.course.starters import open_todos
from grader.records.record import Record
from grader.spec import registry
from grader.timing.targets import describe
from tests.exercises.grading import UNTIMED, check_failure, graded, points, wrong_sections
from tests.exercises.sections import Section

EXERCISE = registry.find("03")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is no word of Python, so its table is asked for by name.
WRONG = importlib.import_module("tests.exercises.03_batched_copy.wrong_kernels").WRONG
FULL_POINTS = {"correct": 50, "clean": 15, "mechanism": 10, "speed": 25}


@pytest.fixture(scope="module")
def mistaken(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Section, Record]]:
    """A wrong kernel by its name: where it stands, and what came of it. Each is graded once."""
    sections = wrong_sections(WRONG, SOLUTION, tmp_path_factory.mktemp("wrong"))

    @functools.cache
    def grade_mistake(name: str) -> tuple[Section, Record]:
        section = sections[name]
        return section, graded(section.of(EXERCISE), section.file, UNTIMED, quick=True)

    return grade_mistake


def test_the_baseline_is_correct_and_not_fast() -> None:
    record = graded(EXERCISE, EXERCISE.baseline)
    assert points(record)["correct"] == FULL_POINTS["correct"]
    assert points(record)["clean"] == FULL_POINTS["clean"]
    assert points(record)["speed"] == 0


@pytest.mark.parametrize("variant", [*EXERCISE.variants()], ids=lambda path: path.stem)
def test_every_variant_is_correct_and_clean_and_lacks_a_mechanism(variant: Path) -> None:
    record = graded(EXERCISE, variant, UNTIMED)
    assert points(record)["correct"] == FULL_POINTS["correct"]
    assert points(record)["clean"] == FULL_POINTS["clean"]
    assert 0 < points(record)["mechanism"] < FULL_POINTS["mechanism"]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(
    name: str, mistaken: Callable[[str], tuple[Section, Record]]
) -> None:
    check_failure(WRONG[name], SOLUTION, *mistaken(name))


def test_a_table_in_device_memory_gets_no_advice_to_widen_its_units(
    mistaken: Callable[[str], tuple[Section, Record]],
) -> None:
    _, record = mistaken("table in device memory")
    stated = {seen.name: seen.message for seen in record.mechanisms if not seen.passed}
    advice = stated["wide units where alignment allows"]
    assert "Every warp would load a table of descriptors in device memory: pass it by value" in advice
    assert "16, 8 or 4 bytes" not in advice


def test_the_targets_have_names_of_their_own() -> None:
    names = [describe(target) for target in EXERCISE.targets]
    assert len(set(names)) == len(names)


def test_the_tasks_of_the_starter_are_numbered_in_the_order_of_the_file() -> None:
    tasks = [todo.text.partition(":")[0] for todo in open_todos(EXERCISE.starter.read_text())]
    assert tasks == [f"TODO {number}" for number in range(1, 8)]
    assert "leaves seven steps marked" in (EXERCISE.folder / "README.md").read_text()


def test_there_are_wrong_kernels_enough() -> None:
    assert len(WRONG) >= 17
    assert {wrong.part for wrong in WRONG.values()} == {"correct", "mechanism"}
