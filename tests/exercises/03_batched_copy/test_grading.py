"""Exercise 03 through the whole pipeline on the virtual GPU: what each kind of kernel earns, and why.

A wrong kernel says in its first line how it must fail:

    // expect: PART REASON at HERE      a finding of that kind, or a failed call, at the line marked HERE
    // expect: PART REASON: words       words of the message that the student reads

Three kinds of mistake do not show in a call by itself: huge, capture and order are for test_kernels.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader import registry
from grader.pipeline import grade
from grader.record import Record

EXERCISE = registry.find("03")
WRONG = sorted(Path(__file__).with_name("wrong").glob("*.cu"))
SEED = "the seed of the tests"
UNTIMED = ("build", "correctness", "checks", "mechanism")
FULL_POINTS = {"correct": 50, "clean": 15, "mechanism": 10, "speed": 25}
ELSEWHERE = ("huge", "capture", "order")


def graded(source: Path, stages: tuple[str, ...] | None = None, quick: bool = False) -> Record:
    return grade(
        EXERCISE, source, submission=source.stem, device="virtual", seed=SEED, stages=stages, quick=quick
    )


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


def test_the_solution_gets_full_marks() -> None:
    record = graded(EXERCISE.solution)
    assert points(record) == FULL_POINTS
    assert record.flags == []
    assert record.diagnostics == []


def test_the_baseline_is_correct_and_not_fast() -> None:
    record = graded(EXERCISE.baseline)
    assert points(record)["correct"] == FULL_POINTS["correct"]
    assert points(record)["clean"] == FULL_POINTS["clean"]
    assert points(record)["speed"] == 0


def test_the_starter_compiles_without_a_warning_and_earns_nothing() -> None:
    record = graded(EXERCISE.starter)
    assert record.diagnostics == []
    assert record.points == 0
    assert record.verdict == "wrong answer"
    assert "Nothing was written" in record.cases[0].message


@pytest.mark.parametrize("variant", [*EXERCISE.variants()], ids=lambda path: path.stem)
def test_every_variant_is_correct_and_clean_and_lacks_a_mechanism(variant: Path) -> None:
    record = graded(variant, UNTIMED)
    assert points(record)["correct"] == FULL_POINTS["correct"]
    assert points(record)["clean"] == FULL_POINTS["clean"]
    assert 0 < points(record)["mechanism"] < FULL_POINTS["mechanism"]


@dataclass(frozen=True)
class Expectation:
    """How a wrong kernel must fail: the part it loses, a reason, and a line or words of the message."""

    part: str
    reason: str
    line: int = 0
    words: str = ""


def expectation(source: Path) -> Expectation:
    first, *rest = source.read_text().splitlines()
    match = re.fullmatch(r"// expect: (\w+) ([\w ]+?)(?:( at HERE)|: (.+))", first)
    assert match is not None, f"{source.name} does not say how it must fail"
    part, reason, here, words = match.groups()
    marked = [number for number, line in enumerate(rest, 2) if line.endswith("// HERE")]
    assert len(marked) == (1 if here else 0), f"{source.name} marks {len(marked)} lines"
    return Expectation(part, reason, line=marked[0] if here else 0, words=words or "")


@pytest.mark.parametrize(
    "source",
    [source for source in WRONG if expectation(source).part not in ELSEWHERE],
    ids=lambda path: path.stem,
)
def test_a_wrong_kernel_fails_for_its_own_reason_at_its_own_line(source: Path) -> None:
    wanted = expectation(source)
    record = graded(source, UNTIMED, quick=True)
    earned = {part.name: part for part in record.parts}
    assert earned[wanted.part].points < earned[wanted.part].max_points
    if wanted.part == "mechanism":
        assert wanted.words in earned[wanted.part].message
        return
    failed = next(case for case in record.cases if not case.passed)
    assert failed.reason == wanted.reason
    assert (f"{source.name}:" if wanted.line else wanted.words) in failed.message
    if wanted.line:
        assert wanted.line in [
            place["line"]  # of the line itself, or of where a helper was called
            for finding in record.findings
            if finding["kind"] == "memory"
            for place in finding["place"]
        ]


def test_there_are_wrong_kernels_enough() -> None:
    assert len(WRONG) >= 16
    assert {expectation(source).part for source in WRONG} >= {"correct", "mechanism", *ELSEWHERE}
