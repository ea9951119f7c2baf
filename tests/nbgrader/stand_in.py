"""A stand-in for the grader that does at once what a comment in a kernel says. Every grading process imports
it, so it imports nothing of nbgrader: that would take seconds each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.records.record import Record
from grader.spec import Exercise
from tests.grader import fake_pipeline

GRADER = f"{__name__}:grade"
MENDED = f"{__name__}:mended"
COUNTED = {"launches": 1.0, "bytes": 4096.0}


def grade(exercise: Exercise, source: Path, **how: Any) -> Record:
    record = fake_pipeline.grade(exercise, source, **how)
    record.measured = dict(COUNTED)
    return record


def mended(exercise: Exercise, source: Path, **how: Any) -> Record:
    """The grader after a mistake in it was mended: an answer like Fay's is right."""
    record = grade(exercise, source, **how)
    if b"as fay" in source.read_bytes():
        for part in record.parts:
            part.points = part.max_points
        record.points, record.verdict = record.max_points, "full marks"
    return record
