"""Grades a mutant: the first failure ends it, and what nothing else has caught is timed, too."""

from __future__ import annotations

from pathlib import Path

from common.core.progress import Notify
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


def lost_parts(record: Record) -> list[PartResult]:
    return [part for part in record.parts if part.points < part.max_points]
