"""Checks a student's own file: grades it as for points, and stops at the first failing case."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError
from common.core.progress import Notify
from grader.classes.submissions import Submission, read_source
from grader.course import starters, student
from grader.course.starters import Todo
from grader.pipeline.events import OnEvent, ignore
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Exercise


@dataclass(frozen=True)
class Checked:
    """A file's record (None while it is still the starter) and the tasks that are left in it."""

    record: Record | None
    todos: list[Todo]


def readable(exercise: Exercise, source: Path, step: int | None) -> str:
    """The file's text. Raises CourseError where it cannot be checked, or there is no such step."""
    _require_step(exercise, step)
    try:
        return read_source(Submission("", exercise.id, source.resolve())).decode()
    except CourseError as problem:
        raise CourseError(f"{source} cannot be checked: {problem}") from problem


def checked(
    exercise: Exercise,
    source: Path,
    text: str,
    device: DeviceInfo,
    step: int | None,
    notify: Notify,
    on_event: OnEvent = ignore,
) -> Checked:
    """Grade a student's own file; `on_event` gets results as they come. A result for the whole exercise is
    kept for `./course list`."""
    todos = starters.open_todos(text, step)
    if exercise.starter.is_file() and starters.is_untouched(text, exercise.starter.read_text()):
        return Checked(None, todos)
    from grader.pipeline.grading import grade

    record = grade(
        exercise,
        source,
        submission="yours",
        device=device,
        quick=True,
        step=step,
        notify=notify,
        on_event=on_event,
    )
    if step is None:
        _remember(exercise, record)
    return Checked(record, todos)


def _require_step(exercise: Exercise, step: int | None) -> None:
    if step is None or 1 <= step <= len(exercise.steps):
        return
    names = [f"{number} ({one.name})" for number, one in enumerate(exercise.steps, 1)]
    known = f"its steps are {', '.join(names)}, and then the whole exercise" if names else "it has no steps"
    raise CourseError(f"{exercise.id} has no step {step}: {known}; leave the step out to check all")


def _remember(exercise: Exercise, record: Record) -> None:
    """For `./course list`."""
    when = datetime.datetime.now().strftime("%Y-%m-%d %H:%M")
    summary = {"verdict": record.verdict, "points": record.points, "max_points": record.max_points}
    student.write_state(exercise, "check", {**summary, "device": record.device.kind, "when": when})
