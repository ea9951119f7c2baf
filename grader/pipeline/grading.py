"""One submission from source to record, through the stages. Every submission produces a record."""

from __future__ import annotations

import datetime
import time
from collections.abc import Collection
from pathlib import Path

from common.core.progress import Notify
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import device_of
from grader.pipeline.context import Context
from grader.pipeline.events import OnEvent, ignore
from grader.pipeline.judging.cases import all_cases
from grader.pipeline.judging.rubric import verdict
from grader.pipeline.repeated_lines import without_repeats
from grader.pipeline.results import Results
from grader.pipeline.stage import Parallel, Stage, in_sequence
from grader.pipeline.stages import (
    build,
    checks,
    correctness,
    large_sizes,
    machine_code,
    mechanism,
    points,
    speed,
    steps,
)
from grader.pipeline.stages.points import Points
from grader.pipeline.submission import Submission
from grader.python_track.device import python_device
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Exercise, seeds

PIPELINE = (
    Stage("build", build.run, "libraries, warnings"),
    Parallel(
        [
            Stage("steps", steps.run, "each step's cases"),
            Stage("correctness", correctness.run, "public, hidden cases"),
        ]
    ),
    Stage("machine code", machine_code.run, "ptxas's refusal"),
    Stage("checks", checks.run, "findings by line", optional=True),
    Stage("mechanism", mechanism.run, "counters, launches", optional=True),
    Stage("speed", speed.run, "ratio to the baseline", optional=True),
    Stage("large sizes", large_sizes.run, "findings in drawn blocks"),
    Stage("points", points.run, "parts, verdict", always=True),
)
OPTIONAL = tuple(stage.name for stage in PIPELINE if isinstance(stage, Stage) and stage.optional)


def grade(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: DeviceInfo | str,
    seed: str | None = None,
    stages: Collection[str] | None = None,
    quick: bool = False,
    step: int | None = None,
    notify: Notify = lambda text: None,
    on_event: OnEvent = ignore,
) -> Record:
    """Grade one file on a device, or on the default device of a kind. `stages` are the optional stages to
    run. With `quick`, the first failing case is the last, and steps are graded beside each other; with
    `step`, that step alone, counted from 1. `on_event` gets results as they come."""
    began = time.monotonic(), datetime.datetime.now(datetime.UTC)
    entered = Submission.read(submission, exercise, source)
    chosen = python_device(device_of(device)) if entered.in_python else device_of(device)
    with scratch_folder() as scratch:
        context = Context(
            device=chosen,
            seed=seed or seeds.fresh(),
            budget=chosen.time_budget(),
            scratch=scratch,
            wanted=frozenset(OPTIONAL if stages is None else stages),
            quick=quick,
            step=None if step is None else exercise.steps[step - 1],
            notify=notify,
            on_event=on_event,
        )
        results = in_sequence(PIPELINE, entered, context, Results())
    return _assembled(entered, context, results, *began)


def _assembled(
    submission: Submission, context: Context, results: Results, began: float, started: datetime.datetime
) -> Record:
    device, tasks = context.device, context.tasks(submission.exercise)
    record = Record(
        submission=submission.name,
        exercise=submission.exercise.id,
        device=device.info,
        verdict=results.of(Points).verdict,
        parts=[part for result in results for part in result.parts],
        diagnostics=[one for result in results for one in result.diagnostics],
        cases=[case for result in results for case in result.cases],
        left_out=[
            case.name for task in tasks for case, _ in all_cases(task, context.seed) if not device.runs(case)
        ],
        mechanisms=[one for result in results for one in result.mechanisms],
        findings=[finding for result in results for finding in result.findings],
        lines=[line for result in results for line in result.lines],
        launches=[launch for result in results for launch in result.launches],
        large_sizes=[one for result in results for one in result.large_sizes],
        launch_shapes=[one for result in results for one in result.launch_shapes],
        sampled_only=[name for result in results for name in result.sampled_only],
        speed=results.speed,
        output=without_repeats("".join(result.output for result in results)),
        flags=[flag for result in results for flag in result.flags],
        source=submission.text,
        file=submission.file,
        source_sha256=submission.sha256,
        seed=context.seed,
        started=started.isoformat(timespec="seconds"),
    )
    record.points = round(sum(part.points for part in record.parts), 2)
    record.max_points = sum(part.max_points for part in record.parts)
    record.verdict = record.verdict or verdict(record, submission.exercise)
    record.seconds = time.monotonic() - began
    return record
