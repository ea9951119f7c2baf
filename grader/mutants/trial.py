"""Grades a mutant: the first failure ends it. The step that the edit is in comes first, then all other cases;
what nothing has caught is timed, too."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

from common.core.progress import Notify
from grader.course.starters import todo_numbers
from grader.pipeline.grading import grade as grade_whole
from grader.records.device_info import DeviceInfo
from grader.records.record import PartResult, Record
from grader.spec import Exercise

GRADER = f"{__name__}:grade"
_SPEED = "speed"
_UNTIMED = ("checks", "mechanism")


def grade(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: DeviceInfo | str,
    seed: str | None = None,
    notify: Notify = lambda text: None,
) -> Record:
    if (step := _step_of(exercise, source)) is not None:
        alone = grade_whole(
            exercise,
            source,
            submission=submission,
            device=device,
            seed=seed,
            stages=(),
            quick=True,
            step=step,
            notify=notify,
        )
        if lost_parts(alone) or not alone.parts:
            return alone
    quick = grade_whole(
        exercise,
        source,
        submission=submission,
        device=device,
        seed=seed,
        stages=_UNTIMED,
        quick=True,
        notify=notify,
    )
    if any(part.name != _SPEED for part in lost_parts(quick)) or not quick.parts:
        return quick
    return grade_whole(exercise, source, submission=submission, device=device, seed=seed, notify=notify)


def _step_of(exercise: Exercise, source: Path) -> int | None:
    """The step whose task the edit is in, counted from 1: the most likely to notice."""
    solution = exercise.solution.read_text()
    pairs = zip_longest(solution.split("\n"), source.read_text().split("\n"))
    edited = next((line for line, (one, other) in enumerate(pairs, 1) if one != other), 0)
    number = todo_numbers(solution).get(edited)
    return number if number is not None and number <= len(exercise.steps) else None


def lost_parts(record: Record) -> list[PartResult]:
    return [part for part in record.parts if part.points < part.max_points]
