"""Gradings of kernels on the virtual GPU, as the tests of an exercise's whole pipeline need them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import Case, Exercise, Speedup
from tests.exercises.sections import Section, write_rounds
from tests.exercises.wrong_kernel import Wrong

SEED = "the seed of the tests"
UNTIMED = ("build", "correctness", "checks", "mechanism")
_EACH = 8  # wrong kernels in a file


def graded(
    exercise: Exercise, source: Path, stages: tuple[str, ...] | None = None, *, quick: bool = False
) -> Record:
    return grade(
        exercise, source, submission=source.stem, device="virtual", seed=SEED, stages=stages, quick=quick
    )


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


def at_one_shape(exercise: Exercise, small: Case) -> Exercise:
    """Its first target, at a shape that slow kernels are through with in a second."""
    target = exercise.targets[0]
    assert isinstance(target, Speedup)
    target = dataclasses.replace(target, cases=(small.name,))
    return dataclasses.replace(exercise, bench=(small,), targets=(target,))


def wrong_sections(table: Mapping[str, Wrong], solution: str, folder: Path) -> dict[str, Section]:
    """The wrong kernels by name, in files that are each compiled once."""
    return write_rounds({name: wrong.source(solution) for name, wrong in table.items()}, folder, _EACH)


def check_failure(wanted: Wrong, solution: str, section: Section, record: Record) -> None:
    """The wrong kernel loses points of its part, for its own reason and at its own line."""
    earned = {part.name: part for part in record.parts}[wanted.part]
    assert earned.points < earned.max_points
    if wanted.part == "correct":
        failed = next(case for case in record.cases if not case.passed and not case.step)
        assert failed.reason == wanted.reason
        found = [finding["message"] for finding in record.findings] if wanted.line else []
        assert wanted.words in " ".join([failed.message, *found])
        assert not wanted.line or f"{section.file.name}:" in failed.message
    else:
        assert wanted.words in earned.message
    if wanted.line:
        assert section.line_number(wanted.line_number(solution)) in [
            place["line"]  # of the line itself, or of where a helper was called
            for finding in record.findings
            if finding["kind"] == wanted.kind
            for place in finding["place"]
        ]
