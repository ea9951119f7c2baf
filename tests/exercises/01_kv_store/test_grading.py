"""Exercise 01 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import Exercise, registry
from tests.exercises.sections import Section, write_rounds

EXERCISE = registry.find("01")
SOLUTION = EXERCISE.solution.read_text()
# The folder's name is not an identifier of Python, so its table is imported by name.
WRONG = importlib.import_module("tests.exercises.01_kv_store.wrong_kernels").WRONG
SEED = "the seed of the tests"
EACH = 8  # wrong kernels in a file
UNTIMED = ("build", "correctness", "checks", "mechanism")
FULL_SPEED_POINTS = 25.0
KINDS = {"error": ("memory",), "timeout": ("hang",)}  # the finding behind a call that failed
# Points for mechanisms of the variants that lack one: of 25, a quarter for each of four.
LACKING = {"register_staged": 12.5, "restrict_only": 12.5, "two_launches": 6.25, "heads_in_parallel": 18.75}


def graded(
    source: Path,
    stages: tuple[str, ...] | None = None,
    quick: bool = False,
    exercise: Exercise = EXERCISE,
) -> Record:
    return grade(
        exercise, source, submission=source.stem, device="virtual", seed=SEED, stages=stages, quick=quick
    )


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Section]:
    """The wrong kernels by name, in files that are each compiled once."""
    texts = {name: wrong.source(SOLUTION) for name, wrong in WRONG.items()}
    return write_rounds(texts, tmp_path_factory.mktemp("wrong"), EACH)


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


def test_the_solution_gets_full_marks() -> None:
    record = graded(EXERCISE.solution)
    assert points(record) == {"correct": 40, "clean": 10, "mechanism": 25, "speed": FULL_SPEED_POINTS}
    assert record.flags == []
    assert record.diagnostics == []


def test_the_baseline_is_correct_and_not_fast() -> None:
    record = graded(EXERCISE.baseline)
    assert points(record)["correct"] == 40
    assert points(record)["clean"] == 10
    assert points(record)["speed"] == 0


def test_the_starter_compiles_without_a_warning_and_earns_nothing() -> None:
    record = graded(EXERCISE.starter)
    assert record.diagnostics == []
    assert record.points == 0
    assert record.verdict == "wrong answer"
    assert "Nothing was written" in record.cases[0].message


@pytest.mark.parametrize("variant", [*EXERCISE.variants()], ids=lambda path: path.stem)
def test_every_variant_is_correct_and_clean(variant: Path) -> None:
    record = graded(variant, UNTIMED)
    assert points(record)["correct"] == 40
    assert points(record)["clean"] == 10
    assert points(record)["mechanism"] == LACKING.get(variant.stem, 25)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(
    name: str, sections: dict[str, Section]
) -> None:
    wanted, section = WRONG[name], sections[name]
    record = graded(section.file, UNTIMED, quick=True, exercise=section.of(EXERCISE))
    earned = {part.name: part for part in record.parts}
    assert earned[wanted.part].points < earned[wanted.part].max_points
    if wanted.part == "correct":
        failed = next(case for case in record.cases if not case.passed)
        assert failed.reason == wanted.reason
        assert (f"{section.file.name}:" if wanted.line else wanted.words) in failed.message
    elif wanted.part == "mechanism":
        assert wanted.words in earned[wanted.part].message
    if wanted.line:
        kinds = (wanted.reason,) if wanted.part == "clean" else KINDS[wanted.reason]
        assert section.line_number(wanted.line_number(SOLUTION)) in [
            place["line"]  # of the line itself, or of where a helper was called
            for finding in record.findings
            if finding["kind"] in kinds
            for place in finding["place"]
        ]


def test_there_are_wrong_kernels_enough() -> None:
    assert len(WRONG) >= 12


def test_a_mistake_is_told_once_however_many_template_instances_make_it(
    sections: dict[str, Section],
) -> None:
    section = sections["V never committed"]
    record = graded(section.file, UNTIMED, exercise=section.of(EXERCISE))
    assert record.findings
    places = [(finding["kind"], finding["line"]) for finding in record.findings]
    assert len(places) == len(set(places))
