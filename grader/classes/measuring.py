"""Measurements as tasks of an executor: what `bench` and `tune` send to other machines, and what comes back.

A task carries its question as JSON in the place of a submission's source, so that nothing but the course
itself must be on the node. The function that measures there returns a record with a `result`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import ClassRun, grade_all
from grader.classes.executor import Executor
from grader.classes.submissions import Submission
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Exercise

_WALL_SECONDS = 7200.0  # of one measurement: far more than any takes
MEASURED = "measured"


@dataclass(frozen=True)
class Measurement:
    """One task: `name` for people, and a question that the measuring function understands."""

    name: str
    exercise: str
    question: dict[str, Any]


def measuring_run(
    device: DeviceInfo, exercises: Sequence[Exercise], output: Path, measure: str, executor: Executor
) -> ClassRun:
    """A run whose tasks are measurements: `measure` is the function on the node, "module:name"."""
    return ClassRun(
        device,
        {exercise.id: exercise for exercise in exercises},
        output,
        _WALL_SECONDS,
        seed="",
        grader=measure,
        executor=executor,
    )


def results_of(run: ClassRun, wanted: Sequence[Measurement]) -> list[dict[str, Any]]:
    """A result for each, in their order. Those that an earlier run left in the output folder are kept. Raises
    CourseError where one has no result; the next run tries that one again."""
    with scratch_folder() as scratch:
        submissions = []
        for number, one in enumerate(wanted):
            file = scratch / f"{number}.json"
            file.write_text(json.dumps(one.question, sort_keys=True))
            submissions.append(Submission(one.name, one.exercise, file))
        records = grade_all(run, submissions)
    failed = [number for number, record in enumerate(records) if not record.result]
    for number in failed:
        run.record_path(submissions[number]).unlink(missing_ok=True)
    if failed:
        one, record = wanted[failed[0]], records[failed[0]]
        reason = "; ".join(record.flags) or record.verdict
        raise CourseError(f"{one.exercise}, {one.name}: {reason}")
    return [record.result for record in records]


def question_in(source: Path) -> dict[str, Any]:
    """On the node: what is to be measured."""
    question: dict[str, Any] = json.loads(source.read_text())
    return question


def record_of(name: str, exercise: str, device: DeviceInfo, result: dict[str, Any]) -> Record:
    """On the node: what was measured."""
    return Record(name, exercise, dataclasses.replace(device), MEASURED, result=result)
