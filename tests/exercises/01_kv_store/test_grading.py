"""Exercise 01 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from grader.spec import registry
from tests.exercises.grading import UNTIMED, check_failure, graded, points, wrong_sections
from tests.exercises.sections import Section

EXERCISE = registry.find("01")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is not an identifier of Python, so its table is imported by name.
WRONG = importlib.import_module("tests.exercises.01_kv_store.wrong_kernels").WRONG
# Points for mechanisms of the variants that lack one: of 25, a quarter for each of four.
LACKING = {"register_staged": 12.5, "restrict_only": 12.5, "two_launches": 6.25, "heads_in_parallel": 18.75}


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    return wrong_sections(WRONG, SOLUTION, tmp_path_factory.mktemp("wrong"))


def test_the_baseline_is_correct_and_not_fast() -> None:
    record = graded(EXERCISE, EXERCISE.baseline)
    assert points(record)["correct"] == 40
    assert points(record)["clean"] == 10
    assert points(record)["speed"] == 0


@pytest.mark.parametrize("variant", [*EXERCISE.variants()], ids=lambda path: path.stem)
def test_every_variant_is_correct_and_clean(variant: Path) -> None:
    record = graded(EXERCISE, variant, UNTIMED)
    assert points(record)["correct"] == 40
    assert points(record)["clean"] == 10
    assert points(record)["mechanism"] == LACKING.get(variant.stem, 25)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(
    name: str, sections: dict[str, Section]
) -> None:
    section = sections[name]
    record = graded(section.of(EXERCISE), section.file, UNTIMED, quick=True)
    check_failure(WRONG[name], SOLUTION, section, record)


def test_there_are_wrong_kernels_enough() -> None:
    assert len(WRONG) >= 12


def test_a_mistake_is_reported_once_however_many_template_instances_make_it(
    sections: dict[str, Section],
) -> None:
    section = sections["V never committed"]
    record = graded(section.of(EXERCISE), section.file, UNTIMED)
    assert record.findings
    places = [(finding["kind"], finding["line"]) for finding in record.findings]
    assert len(places) == len(set(places))
